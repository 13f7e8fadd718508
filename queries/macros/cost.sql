-- GPU-hours that a share of a job's time costs each day that it runs on this many GPUs.
CREATE MACRO gpu_hours_per_day_of(cost_share, gpu_count) AS (cost_share * gpu_count * 24);
