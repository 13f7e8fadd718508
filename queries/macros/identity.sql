-- How a GPU is called: by its host and index; where nothing names the host, several files
-- have a GPU 5, and its UUID says which.
CREATE MACRO gpu_called(host, device_id, gpu_id) AS concat_ws(
    ' ', host, coalesce('GPU ' || device_id, 'GPU ' || replace(gpu_id, 'gpu:', '')),
    CASE WHEN host IS NULL AND device_id IS NOT NULL AND length(gpu_id) = 36
        THEN gpu_id END
);
