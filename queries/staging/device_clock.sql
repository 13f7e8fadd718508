-- Mean SM clock of each traced GPU over the samples of its run, beside the other GPUs'.
-- Grain: one row per device_key with such samples.
--
-- device_key   See traced_device.
-- clock_hz     Mean of its samples.
-- median_hz    Median of this over the run's traced GPUs; NULL with one GPU only.
-- clock_share  clock / median.
WITH sampled AS (
    SELECT d.device_key, d.run_id, avg(s.value) AS clock_hz
    FROM traced_device AS d
    JOIN gpu_sample AS s
        ON s.run_id = d.run_id
        AND s.gpu_id = d.gpu_id
        AND (s.host = d.host OR s.host IS NULL OR d.host IS NULL)
    WHERE s.entity = 'gpu' AND s.metric = 'sm_clock_hz'
    GROUP BY d.device_key, d.run_id
),
compared AS (
    SELECT
        *,
        CASE WHEN count(*) OVER same > 1 THEN median(clock_hz) OVER same END AS median_hz
    FROM sampled
    WINDOW same AS (PARTITION BY run_id)
)
SELECT device_key, clock_hz, median_hz, share_of(clock_hz, median_hz) AS clock_share
FROM compared
