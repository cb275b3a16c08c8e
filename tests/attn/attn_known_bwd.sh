#!/bin/sh
# Known failures of others, bwd.
exec tests/attn/test_attn_known bwd
