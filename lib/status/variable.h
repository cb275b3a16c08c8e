/* Variables of the environment: the library's only door to them. */
#ifndef AOTHIP_VARIABLE_H
#define AOTHIP_VARIABLE_H

/*
 * The value of variable `name`, of fewer than 64 characters, in UTF-8, or NULL where it is not set,
 * and in a program that has more rights than its caller. Valid until the calling thread asks again,
 * or the variable changes.
 */
const char *variable_get(const char *name);

#endif
