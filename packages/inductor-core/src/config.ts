/**
 * @file The configuration section `inductor`.
 */
import { defineConfig, option } from '@tessera/shared';

/** Options of the compiler to loops. */
export interface InductorConfig {
  readonly checkIndices: boolean;
  readonly emulatePrecisionCasts: boolean;
  readonly implicitFallbacks: boolean;
}

/** Live values of `config.inductor`. */
export const inductorConfig: Readonly<InductorConfig> = defineConfig<InductorConfig>('inductor', {
  checkIndices: option<boolean>(
    true,
    'Let kernels refuse what eager refuses: indices and labels out of range, integer division by zero. Without, such an index is clamped or dropped and the quotient is 0.',
  ),
  emulatePrecisionCasts: option<boolean>(
    false,
    'Round 16-bit floats after every operator, as eager does, and not only where a kernel stores them. Slower; compiled half-precision chains then agree with eager bit for bit.',
  ),
  implicitFallbacks: option<boolean>(
    true,
    'Run operators without a lowering on their reference kernels. Without, compiling such an operator is an error.',
  ),
});
