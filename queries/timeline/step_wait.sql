-- How much of each step a device spends waiting for other ranks inside the collectives
-- launched in it, and how much of that no compute hides. A collective that runs on into
-- the next step counts, whole, to the step that launched it: on every rank the same one.
-- Grain: one row per (device_key, step) with a collective.
--
-- device_key       See traced_device.
-- step             See device_step.
-- collective_count  Communication kernels launched in the step; see step_bound.
-- split_count      Of these, how many could be split into wait and transfer.
-- wait_ns          Sum of their waits; NULL when none could be split.
-- exposed_wait_ns  Part of the union of waits with no compute beside it.
-- hidden_wait_ns   Part of that union beside compute.
-- transfer_ns      Union of what follows the waits; of unknown waits all of it.
-- late_ns          Sum of how much later than the median rank it arrived; early is 0.
--                  NULL when none could be split.
SELECT
    device_key,
    step,
    count(*) AS collective_count,
    count(wait_ns) AS split_count,
    sum(wait_ns)::BIGINT AS wait_ns,
    sum(exposed_wait_ns)::BIGINT AS exposed_wait_ns,
    sum(hidden_wait_ns)::BIGINT AS hidden_wait_ns,
    sum(transfer_ns)::BIGINT AS transfer_ns,
    (sum(greatest(late_ns, 0)) FILTER (late_ns IS NOT NULL))::BIGINT AS late_ns
FROM exposed_wait
GROUP BY device_key, step
