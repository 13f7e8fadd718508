-- Samples in which a GPU with work had its clock held down, and by what. Idle clocks,
-- application clocks and display clocks (0x1, 0x2, 0x100) are no throttling; nor is the
-- software power cap at full power.
-- Grain: one row per (telemetry_key, ts_ns, tick).
--
-- telemetry_key  See telemetry_gpu.
-- ts_ns        ns since the source's capture start; NULL where not known.
-- tick         Round of a source without a clock.
-- dur_ns       See gpu_round.
-- window_number  Samples in a row, of throttling or of lower clocks without it, have one.
-- limited_by   What held the clock down; no reason given where the mask is 0.
-- priority     See clock_reason; the smaller, the more it explains.
-- family       power, thermal, setting or unexplained.
-- is_throttling  Whether it is more than somebody's choice or the ordinary power cap.
-- is_hard      Whether the hardware itself says so: one sample is enough.
-- sm_clock_hz  SM clock.
-- reasons      See gpu_round.
-- power_w      Board power.
-- temperature_celsius  Temperature of the GPU.
-- fallen_share  How far below the greater of the GPU's own and its peers' clock.
WITH compared AS (
    SELECT
        r.*,
        1 - r.sm_clock_hz / greatest(c.own_clock_hz, c.peer_clock_hz) AS fallen_share,
        r.power_w < threshold_of('power_cap_share') * c.power_limit_w AS is_low_power
    FROM gpu_round AS r
    JOIN clock_reference AS c USING (telemetry_key)
    WHERE coalesce(r.sm_clock_hz, r.reasons) IS NOT NULL
),
judged AS (
    SELECT
        *,
        coalesce(fallen_share > threshold_of('lower_clock_share'), false) AS is_below
    FROM compared
),
named AS (
    SELECT
        *,
        CASE
            WHEN is_active IS FALSE THEN NULL
            WHEN reasons & 128 > 0 THEN 128
            WHEN reasons & 64 > 0 THEN 64
            WHEN reasons & 32 > 0 THEN 32
            WHEN reasons & 65536 > 0 THEN 65536
            -- Without anything that says there was work, only what is said outright.
            WHEN is_active IS NULL THEN NULL
            WHEN reasons & 8 > 0 AND is_below THEN 8
            WHEN reasons & 4 > 0 AND (is_below OR is_low_power) THEN 4
            WHEN reasons & 131072 > 0 AND (is_below OR is_low_power) THEN 131072
            WHEN NOT is_below THEN NULL
            WHEN reasons & 16 > 0 THEN 16
            WHEN reasons & 2 > 0 THEN 2
            WHEN reasons & 256 > 0 THEN 256
            WHEN reasons = 0 THEN 0
            WHEN reasons IS NULL THEN -1
        END AS bit
    FROM judged
),
told AS (
    SELECT
        *,
        CASE
            WHEN bit IN (4, 131072) THEN coalesce(is_low_power, false)
            ELSE bit NOT IN (2, 16, 256)
        END AS is_throttling
    FROM named
    WHERE bit IS NOT NULL
),
-- A window goes on as long as samples follow each other in the same state.
followed AS (
    SELECT
        *,
        is_after_gap
            OR clock_number - lag(clock_number) OVER series IS DISTINCT FROM 1
            OR is_throttling IS DISTINCT FROM lag(is_throttling) OVER series AS is_new
    FROM told
    WINDOW series AS (PARTITION BY telemetry_key ORDER BY ts_ns, tick)
),
numbered AS (
    SELECT
        *,
        count(*) FILTER (is_new) OVER (
            PARTITION BY telemetry_key ORDER BY ts_ns, tick
        ) AS window_number
    FROM followed
)
SELECT
    n.telemetry_key,
    n.ts_ns,
    n.tick,
    n.dur_ns,
    n.window_number,
    CASE
        WHEN n.bit = 0 THEN 'no reason given'
        WHEN n.bit = -1 THEN 'reasons not sampled'
        WHEN n.bit IN (4, 131072) AND n.is_throttling
            THEN r.name || ' far below the limit'
        ELSE r.name
    END AS limited_by,
    coalesce(r.priority, 60) AS priority,
    coalesce(r.family, 'unexplained') AS family,
    n.is_throttling,
    n.bit IN (32, 64, 128, 65536) AS is_hard,
    n.sm_clock_hz,
    n.reasons,
    n.power_w,
    n.temperature_celsius,
    n.fallen_share
FROM numbered AS n
LEFT JOIN clock_reason AS r ON r.bit = n.bit
