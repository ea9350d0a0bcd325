/**
 * @file A kernel backend of a third party: every fused kernel becomes plain JavaScript, at the speed of scalars.
 */
import { registerKernelBackend } from '@tessera/compile';
import * as core from '@tessera/inductor-core';
import { emit } from './emit.js';
import { LIBRARY } from './javascript.js';

/** The machine: one thing after another, in doubles and 64-bit integers. */
const target: core.ScalarTarget = {
  kind: 'scalar',
  widestFloat: 'float64',
  int64: 'native',
  separateNan: false,
  comparesNan: true,
  skipsIdleLanes: false,
};

/** The backend. */
export const javascriptBackend: core.KernelBackend = core.hostBackend({
  name: 'javascript',
  code: {
    language: 'javascript',
    target,
    emit,
    instantiate: (text, parameters) =>
      new Function(...Object.keys(LIBRARY), ...parameters, text).bind(
        null,
        ...Object.values(LIBRARY),
      ) as core.HostKernel,
  },
  capabilities: { scans: true, attention: new core.AttentionKernels({ widest: 256 }) },
});

/** Makes it the backend of `cpu`, for compiled functions and eager operators. */
export const register = (): void => registerKernelBackend(javascriptBackend);
