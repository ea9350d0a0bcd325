/**
 * @file The `mode` of `compile`: presets of options.
 *
 * Only what there is a choice about is a mode (docs/adr/0018-modes-choose.md).
 */
import { type ConfigValues, TesseraError, nearestNames } from '@tessera/shared';

/** Names of presets. */
export type CompileMode = 'default' | 'max-autotune';

/** Presets by name. */
const MODES: Readonly<Record<CompileMode, ConfigValues>> = {
  default: {},
  'max-autotune': { maxAutotune: true },
};

/** Modes of PyTorch for which there is nothing to choose here. */
const ALWAYS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'reduce-overhead':
      "A compiled graph always runs as one launch: leave the mode out. `pure: true` also skips the function's JavaScript.",
    'max-autotune-no-cudagraphs':
      "There are no CUDA graphs to leave out: write mode: 'max-autotune'.",
  }),
);

/** The configuration that `mode` or `options` ask for. @throws invalid-argument */
export function configOf({
  mode,
  options,
}: {
  readonly mode?: string;
  readonly options?: ConfigValues;
}): ConfigValues {
  if (mode === undefined) return options ?? {};
  if (!Object.hasOwn(MODES, mode)) throw unknownMode(mode);
  const preset = MODES[mode as CompileMode];
  if (options === undefined) return preset;
  throw new TesseraError('invalid-argument', 'compile() takes either mode or options, not both.', {
    context: { mode, options },
    hints: [
      `mode: '${mode}' is the same as options: ${JSON.stringify(preset)}; write those among the others.`,
    ],
  });
}

function unknownMode(mode: string): TesseraError {
  const names = Object.keys(MODES);
  const near = nearestNames(mode, names);
  return new TesseraError(
    'invalid-argument',
    `compile() has no mode '${mode}'. The modes are: ${names.join(', ')}.`,
    {
      context: { mode },
      hints: [
        ALWAYS.get(mode) ?? (near.length > 0 ? `Did you mean '${near[0]}'?` : 'Leave it out.'),
      ],
    },
  );
}
