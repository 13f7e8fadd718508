-- The sequence in which a device's kernels repeat, found without any annotation and
-- without regard to time: a kernel marks the begin of a step if between two of its runs
-- most other kernels run equally often, every time. Where several would do (layers,
-- micro-batches, steps), it is the one that explains most kernels, those of the optimizer
-- first.
-- Grain: one row per device_key without other steps on which such a sequence was found.
--
-- device_key    See traced_device.
-- name_id       Kernel that marks the beginning of a step.
-- step_count    How often it ran.
-- period_ns     Median distance between two of them.
-- name_count    Kernel names that ran as often.
-- confidence    Share of kernels that run in a step as often as in most steps, times
--               1 - 1 / step_count: few repetitions may be chance.
-- starts_ns     When it ran: the begin of each step's work.
WITH executed AS MATERIALIZED (FROM kernel_order),
spaced AS (
    SELECT
        device_key, name_id, shape, start_ns, place,
        place - lag(place) OVER in_order AS since,
        start_ns - lag(start_ns) OVER in_order AS since_ns
    FROM executed
    WINDOW in_order AS (PARTITION BY device_key, shape ORDER BY place)
),
repeated AS (
    SELECT
        device_key,
        shape,
        any_value(name_id) AS name_id,
        count(*) AS kernel_count,
        min(place) AS first_place,
        median(since) AS period,
        median(since_ns)::BIGINT AS period_ns
    FROM spaced
    GROUP BY device_key, shape
),
counted AS (
    SELECT
        device_key, kernel_count,
        arg_min(shape, first_place) AS shape,
        arg_min(name_id, first_place) AS name_id,
        arg_min(period, first_place) AS period,
        arg_min(period_ns, first_place) AS period_ns,
        min(first_place) AS first_place,
        count(DISTINCT name_id) AS name_count
    FROM repeated
    WHERE kernel_count >= 3
    GROUP BY device_key, kernel_count
),
-- Counts that are almost a multiple: warm-up and what the capture cuts off run some more.
judged AS (
    SELECT
        c.*,
        sum(r.kernel_count) AS total_count,
        sum(r.kernel_count) FILTER (least(
            r.kernel_count % c.kernel_count,
            c.kernel_count - r.kernel_count % c.kernel_count
        ) <= r.kernel_count / 10) AS multiple_count
    FROM counted AS c
    JOIN repeated AS r USING (device_key)
    GROUP BY ALL
    -- Bursts of one kernel do not reach over half of all.
    HAVING c.period * (c.kernel_count - 1)
            >= threshold_of('step_period_confidence') * total_count
        AND multiple_count >= threshold_of('step_period_confidence') * total_count
        AND c.period >= threshold_of('step_period_kernel_count')
        AND c.period_ns > 0
),
-- The few counts that promise most.
candidate AS MATERIALIZED (
    SELECT *
    FROM judged
    QUALIFY row_number() OVER (
        PARTITION BY device_key ORDER BY multiple_count DESC, kernel_count DESC
    ) <= 2 OR row_number() OVER (
        PARTITION BY device_key ORDER BY name_count DESC, kernel_count
    ) <= 2
),
-- Some 20 steps, spread over all, tell what a step runs as well as all of them.
mark AS (
    SELECT
        c.device_key, c.kernel_count, c.total_count, e.place,
        lead(e.place, 1, c.total_count + 1) OVER in_order AS next_place
    FROM candidate AS c
    JOIN executed AS e USING (device_key, shape)
    WINDOW in_order AS (PARTITION BY c.device_key, c.kernel_count ORDER BY e.place)
    QUALIFY row_number() OVER in_order * 20 % c.kernel_count < 20
),
in_step AS (
    SELECT m.device_key, m.kernel_count AS step_count, m.step, e.name_id, count(*) AS ran
    FROM (
        SELECT
            device_key, kernel_count, place AS step,
            unnest(range(place, next_place)) AS place
        FROM mark
    ) AS m
    JOIN executed AS e USING (device_key, place)
    GROUP BY ALL
),
looked_at AS (
    SELECT
        device_key, kernel_count AS step_count,
        count(*) AS steps,
        sum(next_place - place) AS kernels
    FROM mark
    GROUP BY device_key, kernel_count
),
-- A kernel follows the steps if more than half of them run it equally often.
frequency AS (
    SELECT
        i.device_key, i.step_count, i.name_id, i.ran,
        count(*) AS steps,
        -- Those that do not run it at all count too.
        2 * count(*) > l.steps AS is_followed,
        sum(i.ran * count(*)) OVER (
            PARTITION BY i.device_key, i.step_count, i.name_id
        ) AS ran_in_all
    FROM in_step AS i
    JOIN looked_at AS l USING (device_key, step_count)
    GROUP BY i.device_key, i.step_count, i.name_id, i.ran, l.steps
),
follower AS (
    SELECT
        device_key, step_count, name_id, ran_in_all,
        CASE WHEN is_followed THEN ran * steps ELSE 0 END AS followed_count
    FROM frequency
    QUALIFY row_number() OVER (
        PARTITION BY device_key, step_count, name_id ORDER BY steps DESC, ran DESC
    ) = 1
),
weighed AS (
    SELECT
        device_key,
        step_count,
        count(*) FILTER (followed_count > 0) AS follower_count,
        sum(followed_count) AS followed_count,
        2 * sum(followed_count) FILTER (n.class = 'optimizer')
            >= sum(ran_in_all) FILTER (n.class = 'optimizer') AS has_optimizer
    FROM follower
    LEFT JOIN classified_kernel_name AS n USING (name_id)
    GROUP BY device_key, step_count
),
compared AS (
    SELECT
        c.device_key,
        c.name_id,
        c.shape,
        w.step_count,
        c.period_ns,
        c.name_count,
        -- What ran before the first step follows none.
        w.followed_count / l.kernels * (c.total_count - c.first_place + 1)
            / c.total_count AS share,
        coalesce(w.has_optimizer, false) AS has_optimizer
    FROM weighed AS w
    JOIN looked_at AS l USING (device_key, step_count)
    JOIN candidate AS c
        ON c.device_key = w.device_key AND c.kernel_count = w.step_count
    WHERE w.follower_count >= 2
),
chosen AS (
    SELECT
        *,
        share * (1 - 1 / step_count) AS confidence,
        max(share) OVER (PARTITION BY device_key, has_optimizer) AS best_share
    FROM compared
    QUALIFY confidence >= threshold_of('step_period_confidence')
),
-- What happens every n-th step only (logging) explains a little more than a step does.
best AS (
    SELECT *
    FROM chosen
    QUALIFY row_number() OVER (
        PARTITION BY device_key
        ORDER BY
            has_optimizer DESC,
            share >= best_share - threshold_of('step_period_gain_share') DESC,
            step_count DESC
    ) = 1
)
SELECT
    b.device_key,
    b.name_id,
    b.step_count,
    b.period_ns,
    b.name_count,
    b.confidence,
    list(e.start_ns ORDER BY e.place) AS starts_ns
FROM best AS b
JOIN executed AS e USING (device_key, shape)
GROUP BY ALL
