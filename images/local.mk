# The kernel images. ninja knows what depends on what, so make always asks it; with nothing to do
# that takes some milliseconds.
EXTRA_DIST += images/matrix.def images/FORMAT.md images/counts images/tune

images_store = aotriton.images
images_verbose = $(if $(filter 1,$(V)),-v)

# The link lets the library that is not yet installed find the images beside itself.
# MAX_JOBS of make's environment, else of configure's, else make's own -j, else one a processor.
images-all: gen/aothip-gen$(EXEEXT) gen/aothip-pack$(EXEEXT)
	@case '$(GPU_ARCHS)' in *[!a-z0-9\ ]*) \
	    echo "GPU_ARCHS='$(GPU_ARCHS)': GPUs are separated by spaces here" >&2; exit 1 ;; esac
	@$(MKDIR_P) images
	@gen/aothip-gen$(EXEEXT) --matrix='$(abs_srcdir)/images/matrix.def' \
	    --kernels='$(abs_srcdir)/gen/kernel' --clang='$(DEVICE_CLANG)' --lld='$(DEVICE_LLD)' \
	    --pack='$(abs_builddir)/gen/aothip-pack$(EXEEXT)' \
	    --gpus='$(GPU_ARCHS)' --flags='$(WERROR_FLAGS) $(DEVICE_FLAGS)' \
	    --wave64-flags='$(DEVICE_WAVE64_FLAGS)' $(KERNEL_DEBUG) $(WARN_BUDGETS) \
	    --output=images/build.ninja
	@asked=`printf '%s\n' "$$MAKEFLAGS" | sed -n 's/.*-j *\([0-9][0-9]*\).*/\1/p'`; \
	jobs=$${MAX_JOBS:-$(CONFIGURED_JOBS)}; jobs=$${jobs:-$$asked}; \
	exec $(NINJA) -C images $(images_verbose) -j $${jobs:-`getconf _NPROCESSORS_ONLN`}
	@cd images/$(images_store) && for d in amd-*; do \
	    case ' $(GPU_ARCHS) ' in *" $${d#amd-} "*) ;; *) rm -rf "$$d" ;; esac; done
	@for gpu in $(GPU_ARCHS); do \
	    of=`awk -v gpu=$$gpu '$$1 == "sibling" && $$2 == gpu { sub(/^of=/, "", $$3); of = $$3 } \
	        END { print of ? of : gpu }' '$(srcdir)/images/matrix.def'`; \
	    from='$(srcdir)'/images/tune/$$gpu.txt to=images/$(images_store)/amd-$$gpu/flash/tune.txt; \
	    case $$gpu in gfx115?) of=gfx1151 ;; esac; \
	    test -e "$$from" || from='$(srcdir)'/images/tune/$$of.txt; \
	    if test -e "$$from"; then \
	        sed "s/^gpu .*/gpu $$gpu/" "$$from" | cmp -s - $$to || \
	        sed "s/^gpu .*/gpu $$gpu/" "$$from" >$$to || exit 1; \
	    else rm -f $$to; fi; done
	@$(MKDIR_P) lib/.libs && test -e lib/.libs/$(images_store) || \
	    $(LN_S) ../../images/$(images_store) lib/.libs/$(images_store)

images-clean:
	rm -rf images/$(images_store) images/object images/build.ninja images/.ninja_deps \
	    images/.ninja_log

# Everything of one GPU lies in its own directory, so that it can be packaged by itself. The images of
# a family are one file with several names: where the directories go together, so does the file once.
images-install: images-all
	@before=; for gpu in $(GPU_ARCHS); do \
	    from=images/$(images_store)/amd-$$gpu to='$(DESTDIR)$(libdir)'/$(images_store)/amd-$$gpu; \
	    echo "installing $$to"; $(MKDIR_P) "$$to/flash" && \
	    $(INSTALL_DATA) $$from/flash/*.zst "$$to/flash" || exit 1; \
	    for other in $$before; do \
	        same='$(DESTDIR)$(libdir)'/$(images_store)/amd-$$other/flash/attn.zst; \
	        cmp -s "$$same" "$$to/flash/attn.zst" || continue; \
	        ln -f "$$same" "$$to/flash/attn.zst" 2>/dev/null; break; done; \
	    before="$$before $$gpu"; \
	    { test ! -e $$from/flash/tune.txt || \
	      $(INSTALL_DATA) $$from/flash/tune.txt "$$to/flash"; } && \
	    $(INSTALL_DATA) $$from/__signature__ "$$to" || exit 1; \
	done

images-uninstall:
	for gpu in $(GPU_ARCHS); do \
	    rm -rf '$(DESTDIR)$(libdir)'/$(images_store)/amd-$$gpu; done
	-rmdir '$(DESTDIR)$(libdir)'/$(images_store)

# How the same kernels would fare in other forms: the tables of images/FORMAT.md.
compare-images: images-all
	@for gpu in $(GPUS_COMPILED); do \
	    gen/aothip-pack$(EXEEXT) compare --matrix='$(srcdir)/images/matrix.def' --gpu=$$gpu \
	        --objects=images/object/$$gpu && echo || exit 1; done

# Keeps what this build needs and does as the table that tests/gen/kernel/counts.sh holds later ones
# of the same compiler against. Siblings have the numbers of the GPU whose code they run;
# what the compiler does not know is not in its table.
counts_table = $(srcdir)/images/counts/clang-$(firstword $(subst ., ,$(DEVICE_CLANG_VERSION))).txt
update-counts: images-all tools/aothip-inspect$(EXEEXT)
	@for gpu in $(GPUS_COMPILED); do case ' $(GPU_ARCHS) ' in *" $$gpu "*) ;; \
	    *) echo 'update-counts needs a build for' $(GPUS_COMPILED); exit 1 ;; esac; done
	@{ echo '# What each kernel needs, and the instructions of its key loop by class, as aothip-inspect'; \
	  echo '# counts them (its manual page explains the columns). tests/gen/kernel/counts.sh fails when a'; \
	  echo '# number of a build by this compiler gets worse; `make update-counts` writes this file.'; \
	  echo '# clang $(DEVICE_CLANG_VERSION)'; \
	  for gpu in $(GPUS_COMPILED); do echo images/$(images_store)/amd-$$gpu/flash/attn.zst; done | \
	    xargs tools/aothip-inspect$(EXEEXT); } >images/counts.tmp
	mv images/counts.tmp $(counts_table)

# The same for what launches of fixed problems take, of tests/gen/launches/launches.sh: by order of
# preference, as all tests but those of the choice between tiles.
launches_clang = $(firstword $(subst ., ,$(DEVICE_CLANG_VERSION)))
update-launches: all tests/gen/launches/attn_fwd_launches$(EXEEXT) \
		tests/gen/launches/attn_bwd_launches$(EXEEXT)
	@for pass in fwd bwd; do \
	    program=attn_$${pass}_launches; \
	    { echo "# Instructions of launches on the emulator: GPU, problem ($$program.c), kernel, number."; \
	      echo '# tests/gen/launches/launches.sh fails when a problem takes more; `make update-launches` writes this file.'; \
	      echo '# clang $(DEVICE_CLANG_VERSION)'; \
	      AOTHIP_TUNE=none tests/gen/launches/$$program$(EXEEXT); } >images/launches.tmp && \
	    mv images/launches.tmp $(srcdir)/images/counts/$$pass-launches-$(launches_clang).txt || exit 1; \
	done

# And for the clocks that the emulator predicts, of tests/tools/emu/time/clock.sh.
clock_table = $(srcdir)/images/counts/clock-$(firstword $(subst ., ,$(DEVICE_CLANG_VERSION))).txt
update-clock: all tests/tools/emu/time/attn_clock$(EXEEXT)
	@{ echo '# Clocks that the emulator predicts for calls: GPU, problem (attn_clock.c), kernel, launches, clocks.'; \
	  echo '# tests/tools/emu/time/clock.sh fails when one takes 2 % more; `make update-clock` writes this file.'; \
	  echo '# clang $(DEVICE_CLANG_VERSION)'; \
	  AOTHIP_TUNE=none tests/tools/emu/time/attn_clock$(EXEEXT); } >images/clock.tmp
	mv images/clock.tmp $(clock_table)

# The tables by which tiles are chosen, under the emulator's clock; tests/tools/programs/tune.sh holds
# kernels against them. A table goes into the store with the next make. GPUs without one have that of
# the GPU whose code they run, those of gfx115x (Ryzen AI) gfx1151's.
TUNE_GPUS = gfx90a gfx942 gfx950 gfx1100 gfx1151 gfx1201
update-tune: all
	@$(MKDIR_P) '$(srcdir)/images/tune'
	@for gpu in $(TUNE_GPUS); do echo "tuning $$gpu"; \
	    tools/aothip-bench$(EXEEXT) --emulate $$gpu --tune images/tune.new && \
	    mv images/tune.new '$(srcdir)'/images/tune/$$gpu.txt || exit 1; done
	@$(MAKE) $(AM_MAKEFLAGS) images-all

ALL_LOCAL += images-all
CLEAN_LOCAL += images-clean
INSTALL_DATA_LOCAL += images-install
UNINSTALL_LOCAL += images-uninstall
.PHONY: images-all compare-images update-counts update-launches update-clock \
	update-tune
