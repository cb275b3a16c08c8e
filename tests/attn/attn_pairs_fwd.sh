#!/bin/sh
# Every pair of values of the forward features.
exec tests/attn/test_attn_pairs fwd
