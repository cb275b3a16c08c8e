# The emulator's own tests.
emu_test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/emu -I$(top_srcdir)/tests

check_PROGRAMS += tests/tools/emu/test_isa tests/tools/emu/test_decode_llvm
tests_tools_emu_test_isa_SOURCES = tests/tools/emu/test_isa.c
tests_tools_emu_test_isa_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_test_isa_LDADD = tools/emu/libemu.la
tests_tools_emu_test_decode_llvm_SOURCES = tests/tools/emu/test_decode_llvm.c
tests_tools_emu_test_decode_llvm_CPPFLAGS = $(emu_test_cppflags)
tests_tools_emu_test_decode_llvm_LDADD = tools/emu/libemu.la -ldl
TESTS += tests/tools/emu/test_isa

# Runs test_decode_llvm over random words and over the code objects of this build.
dist_check_SCRIPTS += tests/tools/emu/decode_llvm.sh
TESTS += tests/tools/emu/decode_llvm.sh

# Writes the page of what the emulator can do into the source tree.
.PHONY: coverage
coverage: tests/tools/emu/test_isa
	tests/tools/emu/test_isa --coverage >$(srcdir)/tools/emu/COVERAGE.md.new
	mv -f $(srcdir)/tools/emu/COVERAGE.md.new $(srcdir)/tools/emu/COVERAGE.md
EXTRA_DIST += tools/emu/COVERAGE.md
