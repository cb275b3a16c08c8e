# Random problems on the emulator against the header's text.
#
#     make check-random SECONDS=600 SEED=7       draws problems for ten minutes
#     make check-random PROBLEM='gpu=gfx942 ...' runs one again
random_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
random_sources = \
	tests/random/draft.c tests/random/draft.def tests/random/draft.h \
	tests/random/draw.c \
	tests/random/expect.c tests/random/expect.h \
	tests/random/expect_bwd.c \
	tests/random/judge.c tests/random/judge.h \
	tests/random/number.h \
	tests/random/place.c tests/random/place.h \
	tests/random/scene.c tests/random/scene.h \
	tests/random/scene_cache.c \
	tests/random/scene_scores.c \
	tests/random/shrink.c tests/random/shrink.h \
	tests/random/stage.c tests/random/stage.h \
	tests/random/trial.c tests/random/trial.h
random_libs = lib/libaothip.la tools/emu/libhipemu.la -lm

check_PROGRAMS += tests/random/check_random
tests_random_check_random_SOURCES = tests/random/check_random.c $(random_sources)
tests_random_check_random_CPPFLAGS = $(random_cppflags)
tests_random_check_random_LDADD = $(random_libs)
check_PROGRAMS += tests/random/test_random
tests_random_test_random_SOURCES = tests/random/test_random.c $(random_sources)
tests_random_test_random_CPPFLAGS = $(random_cppflags)
tests_random_test_random_LDADD = $(random_libs)
TESTS += tests/random/test_random tests/random/check_random

SECONDS = 60
SEED = 14
PROBLEM =
check-random: all tests/random/check_random$(EXEEXT)
	tests/random/check_random$(EXEEXT) --seconds '$(SECONDS)' --seed '$(SEED)' $(PROBLEM)
.PHONY: check-random
