/**
 * @file `setPrintoptions`: how tensors are printed. @see torch.set_printoptions
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type PrintSettings, printSettings, putPrintSettings } from './print-options-state.js';

const PROFILES: Readonly<Record<'default' | 'short' | 'full', Omit<PrintSettings, 'sciMode'>>> = {
  default: { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80 },
  short: { precision: 2, threshold: 1000, edgeitems: 2, linewidth: 80 },
  full: { precision: 4, threshold: Infinity, edgeitems: 3, linewidth: 80 },
};

/** Options of `setPrintoptions`. */
export interface PrintOptions extends Partial<PrintSettings> {
  /** A set of numbers to begin with: `short` has fewer digits and elements, `full` leaves nothing out. */
  readonly profile?: keyof typeof PROFILES;
}

const NAMES: OptionNames<PrintOptions> = {
  precision: true,
  threshold: true,
  edgeitems: true,
  linewidth: true,
  sciMode: true,
  profile: true,
};

/**
 * Sets how tensors are printed; what is left out stays as it is, but `sciMode`, which is then chosen again for each
 * tensor, as in PyTorch.
 *
 * @throws invalid-argument
 * @example setPrintoptions({ precision: 2, sciMode: false })
 */
export function setPrintoptions(options: PrintOptions = {}): void {
  checkOptionNames('setPrintoptions', options, NAMES);
  const { profile, sciMode = null, ...numbers } = options;
  if (profile !== undefined && !Object.hasOwn(PROFILES, profile))
    refuse('profile', profile, `'default', 'short' or 'full'`);
  const given = Object.entries(numbers).filter(([, value]) => value !== undefined);
  for (const [name, value] of given)
    if (!(value >= 0) || (name !== 'threshold' && !Number.isInteger(value)))
      refuse(name, value, 'a whole number that is not negative');
  if (sciMode !== null && typeof sciMode !== 'boolean')
    refuse('sciMode', sciMode, 'true, false or null');
  putPrintSettings({
    ...printSettings(),
    ...(profile === undefined ? {} : PROFILES[profile]),
    ...Object.fromEntries(given),
    sciMode,
  });
}

function refuse(name: string, value: unknown, expected: string): never {
  throw new TesseraError(
    'invalid-argument',
    `setPrintoptions: ${name} must be ${expected}, not ${String(value)}.`,
    { hints: ["The settings of the beginning: setPrintoptions({ profile: 'default' })."] },
  );
}

/** The settings in force, which `setPrintoptions` takes. @see torch._tensor_str.get_printoptions */
export function getPrintoptions(): PrintSettings {
  return printSettings();
}
