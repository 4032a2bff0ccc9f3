"""Faster forms of functions of the model, the loss and the search.

`system/kernel_dispatch.py` substitutes them. Without this package, or with `training.kernels` and
`search.kernels` off, the program is slower, computes in float32, and its results differ by rounding only.
"""

KERNELS = {
    "model.layers:tanh": "cached_layers:tanh",
    "model.cells:GatedCell.forward": "gated:step",
    "model.decoder:Decoder.teacher_force": "gated:teacher_force",
    "model.layers:linear": "cached_layers:linear",
    "model.layers:linear_together": "cached_layers:linear_together",
    "system.kernel_dispatch:linear_cache": "cached_layers:LinearCache",
    "system.kernel_dispatch:once": "cached_layers:once",
    "system.kernel_dispatch:product_dtype": "cached_layers:product_dtype",
    "training.loss:negative_log_likelihood": "output_loss:negative_log_likelihood",
    "translation.beam:best_sums": "topk:best_sums",
}
"""Function of rnnsearch → its kernel in rnnsearch.kernels, both as `module:function`."""
