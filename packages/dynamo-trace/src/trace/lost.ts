/**
 * @file `Lost`: why a value of a call that is over cannot be computed any more.
 */

/** See the file header. */
export class Lost extends Error {}
