/* The header of the test kernel: touching it must rebuild the kernel. */
static __attribute__((device)) float test_step(float x)
{
    return x * 2;
}
