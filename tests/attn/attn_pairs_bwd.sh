#!/bin/sh
# Every pair of values of the backward features.
exec tests/attn/test_attn_pairs bwd
