/**
 * @file Formats of weights that language models are timed in.
 */

/** All of them. */
export const FORMATS = ['float32', 'float16', 'int8', 'int4'] as const;

/** See the file header. */
export type Format = (typeof FORMATS)[number];

/** Columns that share a scale where weights have few bits. */
export const GROUP = 64;
