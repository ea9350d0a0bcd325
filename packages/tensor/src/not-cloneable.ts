/**
 * @file What `structuredClone(x)` and `postMessage(x)` say of a tensor.
 *
 * Hosts copy an object field by field and ask it nothing, so a tensor cannot say how it is copied. They refuse functions,
 * and name one by its text: each tensor's first field is this one, or else the refusal names a field deep inside of a
 * storage. Programs that walk through objects meet nothing in it.
 */

/** See the file header. */
export const NOT_CLONEABLE = (): string =>
  'a tensor: copy it with x.clone(), send x.toTypedArray() and x.shape';
