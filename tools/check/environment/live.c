/* What torch itself says of flash attention, and a forced flash call: asked of a Python process. */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python.h"
#include "torch_package.h"

/* What to do about what the script finds; it prints the letters. */
static const struct {
    char letter;
    const char *text;
} cures[] = {
    {'i', "Mend this torch, or its dependencies: nothing that uses it can run."},
    {'g', "See the driver above; in a container, pass --device=/dev/kfd --device=/dev/dri."},
    {'c', "Call torch.backends.cuda.preferred_rocm_fa_library('aotriton'), or unset "
          "TORCH_ROCM_FA_PREFER_CK."},
    {'e', "Call torch.backends.cuda.enable_flash_sdp(True)."},
    {'x', "If it is called experimental, set TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1, or build "
          "torch with aothip. Else torch has the reason in its text."},
    {'f', "Run aothip-check without --environment: it says whether library and images are sound."},
    {'w', "Report it with what AOTHIP_CAPTURE writes: wrong results must not be used."},
};

/*
 * One line a finding: level, letter of the cure or -, text. torch prints its reasons to standard
 * error from C++, so that is read. Without a GPU the same is asked of the processor, for what torch
 * itself would do there; of that only wrong results are a failure. The reference is computed in
 * double precision on the processor.
 */
static const char script[] = PYTHON_PATH_FIRST
    "import os, re, tempfile, warnings\n"
    "def say(level, cure, text):\n"
    "    print(level, cure, ' '.join(str(text).split()), sep='\\t', flush=True)\n"
    "try:\n"
    "    import torch\n"
    "    from torch.nn.functional import scaled_dot_product_attention as attention\n"
    "    cuda = torch.backends.cuda\n"
    "except Exception as why:\n"
    "    say('FAIL', 'i', f'Python cannot import torch: {why}')\n"
    "    sys.exit()\n"
    "gpu = torch.cuda.is_available()\n"
    "def judge(good, level, cure, text):\n"
    "    say('INFO' if not gpu else 'OK' if good else level, '-' if good or not gpu else cure, "
    "text)\n"
    "if gpu:\n"
    "    say('OK', '-', 'torch computes on ' + torch.cuda.get_device_name())\n"
    "elif torch.version.hip:\n"
    "    say('FAIL', 'g', 'torch sees no GPU; what follows is of the processor')\n"
    "else:\n"
    "    say('INFO', '-', 'what follows is of the processor')\n"
    "try:\n"
    "    library = str(cuda.preferred_rocm_fa_library())\n"
    "    judge('ck' not in library.lower(), 'WARN', 'c', 'preferred flash library: ' + library)\n"
    "except Exception as why:\n"
    "    say('INFO', '-', f'this torch has no preferred flash library: {why}')\n"
    "on = cuda.flash_sdp_enabled()\n"
    "judge(on, 'WARN', 'e', 'flash attention is ' + "
    "('enabled' if on else 'disabled in this process'))\n"
    "q, k, v = (torch.randn(1, 4, 128, 64, dtype=torch.float16, device='cuda' if gpu else 'cpu') "
    "for _ in 'qkv')\n"
    "def listen(ask):\n"
    "    with tempfile.TemporaryFile('w+') as file:\n"
    "        before = os.dup(2)\n"
    "        os.dup2(file.fileno(), 2)\n"
    "        try:\n"
    "            answer = ask()\n"
    "        finally:\n"
    "            os.dup2(before, 2)\n"
    "            os.close(before)\n"
    "        file.seek(0)\n"
    "        return answer, re.findall(r'Warning: (.*?)(?: \\(function |$)', file.read(), re.M)\n"
    "with warnings.catch_warnings(record=True) as said:\n"
    "    warnings.simplefilter('always')\n"
    "    try:\n"
    "        try:\n"
    "            params = cuda.SDPAParams(q, k, v, None, 0.0, False, False)\n"
    "        except TypeError:\n"
    "            params = cuda.SDPAParams(q, k, v, None, 0.0, False)\n"
    "        can, printed = listen(lambda: cuda.can_use_flash_attention(params, True))\n"
    "        why = '; '.join([str(w.message) for w in said] + printed) or 'it gives no reason'\n"
    "        judge(can, 'FAIL', 'x', "
    "'torch can use flash attention' if can else 'torch refuses flash attention: ' + why)\n"
    "    except Exception as why:\n"
    "        say('INFO', '-', f'can_use_flash_attention cannot be asked: {why}')\n"
    "try:\n"
    "    from torch.nn.attention import SDPBackend, sdpa_kernel\n"
    "    a, b, c = (x.cpu().double() for x in (q, k, v))\n"
    "    want = torch.softmax(a @ b.transpose(-1, -2) / 8, -1) @ c\n"
    "    def off(backend):\n"
    "        with sdpa_kernel(backend):\n"
    "            out = attention(q, k, v)\n"
    "        return (out.cpu().double() - want).abs().max().item()\n"
    "    error, plain = off(SDPBackend.FLASH_ATTENTION), off(SDPBackend.MATH)\n"
    "    good = error < 4e-3\n"
    "    say(('OK' if gpu else 'INFO') if good else 'FAIL', '-' if good else 'w', "
    "f'a forced flash call: largest error {error:.1e}, ' + ('as it should be' if good else "
    "'far too much') + f'; of torch in plain arithmetic: {plain:.1e}')\n"
    "except Exception as why:\n"
    "    say('FAIL' if gpu else 'INFO', 'f' if gpu else '-', f'a forced flash call fails: "
    "{why}')\n";

static const char *cure_of(char letter)
{
    for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++)
        if (cures[i].letter == letter)
            return cures[i].text;
    return NULL;
}

static enum env_level level_of(const char *word)
{
    return !strncmp(word, "OK\t", 3)     ? ENV_OK
           : !strncmp(word, "WARN\t", 5) ? ENV_WARN
           : !strncmp(word, "FAIL\t", 5) ? ENV_FAIL
                                         : ENV_INFO;
}

/* Adds what one line says; lines that are no findings are torch's own chatter. */
static int add_line(struct env_report *report, char *line)
{
    char *cure = strchr(line, '\t'), *text = cure ? strchr(cure + 1, '\t') : NULL;
    if (!text || text != cure + 2)
        return 0;
    text[1 + strcspn(text + 1, "\r\n")] = '\0';
    env_add(report, level_of(line), "torch", cure_of(cure[1]), "%s", text + 1);
    return 1;
}

void env_try_torch(struct env_report *report, const char *directory)
{
    char name[TORCH_PATH + 16], line[2 * ENV_TEXT_MAX], why[64], *above;
    struct python python;
    int findings = 0;

    snprintf(name, sizeof(name), "%s/__init__.py", directory);
    if (access(name, R_OK)) {
        env_add(report, ENV_INFO, "torch", NULL, "%s cannot be imported, so it is not tried",
                directory);
        return;
    }
    snprintf(name, sizeof(name), "%s/..", directory);
    above = realpath(name, NULL);
    python_start(&python, script, above);
    free(above);
    while (python.output && fgets(line, sizeof(line), python.output))
        findings += add_line(report, line);
    if (python_end(&python, why, sizeof(why)))
        env_add(report, ENV_FAIL, "torch", cure_of('f'), "%s %s while it tried torch", python_name,
                why);
    else if (!findings)
        env_add(report, ENV_INFO, "torch", NULL, "%s could not be asked", python_name);
}
