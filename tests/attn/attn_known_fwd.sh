#!/bin/sh
# Known failures of others, fwd.
exec tests/attn/test_attn_known fwd
