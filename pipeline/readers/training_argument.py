"""What a log says of the job's own arguments: those of a list, none else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.readers.training_lines import Line

# Names as Megatron's argument dump and DeepSpeed's configuration print them, and as we do.
_CANONICAL = {
    "train_batch_size": "global_batch_size",
    "train_micro_batch_size_per_gpu": "micro_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "zero_optimization_stage": "zero_stage",
    "fp16_enabled": "fp16",
    "bfloat16_enabled": "bf16",
    "model_parallel_size": "tensor_model_parallel_size",
    "checkpoint_activations": "recompute_activations",
    "moe_expert_parallel_size": "expert_model_parallel_size",
    "num_key_value_heads": "num_query_groups",
    "sequence_parallel_size": "ds_sequence_parallel_size",
}
# fmt: off
_ALLOWED = frozenset(
    (
        "hidden_size", "ffn_hidden_size", "num_layers", "num_attention_heads",
        "num_query_groups", "kv_channels", "seq_length", "encoder_seq_length",
        "decoder_seq_length", "max_position_embeddings", "vocab_size", "padded_vocab_size",
        "make_vocab_size_divisible_by", "micro_batch_size", "global_batch_size",
        "gradient_accumulation_steps", "log_interval", "tensor_model_parallel_size",
        "pipeline_model_parallel_size", "context_parallel_size",
        "virtual_pipeline_model_parallel_size", "num_layers_per_virtual_pipeline_stage",
        "expert_model_parallel_size", "expert_tensor_parallel_size",
        "ds_sequence_parallel_size", "data_parallel_size", "world_size",
        "sequence_parallel", "num_experts", "moe_router_topk", "moe_ffn_hidden_size",
        "use_distributed_optimizer", "zero_stage", "overlap_grad_reduce",
        "overlap_param_gather", "bf16", "fp16", "fp8", "fp8_e4m3", "fp8_hybrid",
        "params_dtype", "swiglu", "group_query_attention",
        "untie_embeddings_and_output_weights", "recompute_activations",
        "recompute_granularity", "recompute_method", "recompute_num_layers",
        "checkpoint_num_layers", "distribute_checkpointed_activations", "train_iters",
        "train_samples", "attention_backend", "use_flash_attn", "transformer_impl",
    )
)
# fmt: on
_BEGIN = re.compile(r"-{5,} arguments -{5,}")
_END = re.compile(r"-{5,} end of arguments -{5,}")
_DOTTED = re.compile(r"\s{1,8}(\w{1,60}) \.{2,60} (.{1,80})")
_DEEPSPEED = re.compile(
    r".{0,120}\[config\.py:\d{1,5}:print(?:_user_config)?\]\s{1,8}(\w{1,60}) \.{2,60} (.{1,80})"
)
_SIZES = re.compile(r"using world size: (?=\d)")
_SIZE = re.compile(r"([a-z][a-z \-]{2,40})[ -]size: (\d{1,9})(?=,|\s|$)")
_VOCABULARY = re.compile(
    r"> padded vocab \(size: \d{1,12}\) with \d{1,12} dummy tokens \(new size: (\d{1,12})\)"
)
# Numbers, flags and single words; a path has a slash.
_PLAIN = re.compile(r"[\w.+\-]{1,40}|\[[\w., ]{1,40}\]")


class Arguments:
    """Collects allow-listed arguments; ``rows`` are those of ``job_argument``."""

    NEEDLES = (b" arguments -", b" ...", b"padded vocab (size:", b"using world size:")

    def __init__(self) -> None:
        self._is_within = False
        self._rows: dict[tuple[str, str], int] = {}
        self.dumps = 0
        self.log_interval: int | None = None  # steps between two lines of Megatron

    def add(self, line: Line) -> None:
        """Takes what an argument's line says."""
        text = line.printed.line.rstrip()
        for name, value in self._said(text):
            name = _CANONICAL.get(name, name)
            if name in _ALLOWED and _PLAIN.fullmatch(value) and not line.is_torn:
                self._rows.setdefault((name, value), line.number)
                if name == "log_interval" and value.isdecimal():
                    self.log_interval = int(value) or None

    def _said(self, text: str) -> Iterator[tuple[str, str]]:
        if _BEGIN.fullmatch(text.strip()):
            self._is_within = True
            self.dumps += 1
        elif _END.fullmatch(text.strip()):
            self._is_within = False
        elif found := (self._is_within and _DOTTED.fullmatch(text)) or _DEEPSPEED.fullmatch(text):
            yield found[1], found[2].strip()
        elif found := _VOCABULARY.search(text):
            yield "padded_vocab_size", found[1]
        elif found := _SIZES.match(text.lstrip()):
            for name, value in _SIZE.findall(text[:1000].replace("using world", "world")):
                yield "_".join([*re.split(r"[ \-]+", name.strip()), "size"]), value

    def rows(self) -> list[dict[str, object]]:
        """One row per name and value, with the line that said it first."""
        return [
            {"name": name, "value": value, "line": number}
            for (name, value), number in sorted(self._rows.items())
        ]
