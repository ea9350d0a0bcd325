/**
 * @file A kernel backend of a third party: every fused kernel becomes plain JavaScript, at the speed of scalars.
 */
import { registerKernelBackend } from '@tessera/compile';
import * as core from '@tessera/inductor-core';
import { LIBRARY } from './functions.js';
import { generate } from './kernel.js';

/** The backend. */
export const javascriptBackend: core.KernelBackend = core.hostBackend({
  name: 'javascript',
  language: 'javascript',
  generate,
  instantiate: (text, parameters) =>
    new Function(...Object.keys(LIBRARY), ...parameters, text).bind(
      null,
      ...Object.values(LIBRARY),
    ) as core.HostKernel,
});

/** Makes it the backend of `cpu`, for compiled functions and eager operators. */
export const register = (): void => registerKernelBackend(javascriptBackend);
