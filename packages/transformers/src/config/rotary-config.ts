/**
 * @file Rotary positions as `config.json` describes them. New files have all of them in `rope_parameters`; older ones
 * have `rope_theta` beside `rope_scaling`, and what the length of training was beside that.
 */
import { TesseraError } from '@tessera/shared';
import type { Positions, RotaryScaling } from './decoder-config.js';
import type { JsonConfig } from './json-config.js';
import type { Defaults } from './llama-like.js';
import { unsupported } from './unsupported.js';

type Rotary = Extract<Positions, { kind: 'rotary' }>;
type RotaryDefaults = Pick<Defaults, 'partial_rotary_factor' | 'rope_theta'>;
type Stretching = Pick<Rotary, 'scaling' | 'amplitude'>;

/** Fields of the stretching, and of the whole file. */
interface Fields {
  readonly rope: JsonConfig;
  readonly json: JsonConfig;
  /** Pairs that are turned. */
  readonly pairs: number;
}

const plain = (scaling: RotaryScaling): Stretching => ({ scaling, amplitude: 1 });

function originalLength({ rope, json }: Fields): number {
  const name = 'original_max_position_embeddings';
  return rope.size(name, json.size(name, json.size('max_position_embeddings')));
}

/** What the length grew by. */
function factorOf(fields: Fields, original: number): number {
  const { rope, json } = fields;
  return rope.positiveOrNull('factor') ?? json.size('max_position_embeddings') / original;
}

function yarn(fields: Fields): Stretching {
  const { rope } = fields;
  const original = originalLength(fields);
  const factor = factorOf(fields, original);
  const grown = (share: number): number => (factor <= 1 ? 1 : 0.1 * share * Math.log(factor) + 1);
  const [share, all] = [rope.number('mscale', 0), rope.number('mscale_all_dim', 0)];
  return {
    scaling: {
      kind: 'yarn',
      factor,
      fast: rope.number('beta_fast', 32),
      slow: rope.number('beta_slow', 1),
      originalLength: original,
      whole: rope.flag('truncate', true),
    },
    amplitude:
      rope.positiveOrNull('attention_factor') ??
      (share !== 0 && all !== 0 ? grown(share) / grown(all) : grown(1)),
  };
}

function longrope(fields: Fields): Stretching {
  const { rope, pairs } = fields;
  const original = originalLength(fields);
  const factor = factorOf(fields, original);
  const factors = (name: string): readonly number[] => {
    const found = rope.numbers(name);
    if (found.length === pairs && found.every((value) => value > 0)) return found;
    throw new TesseraError('model-invalid', `config.json: '${name}' has no factor for each pair.`, {
      context: { field: name, factors: found.length, pairs },
      hints: ['Take config.json from the folder of the weights.'],
    });
  };
  return {
    scaling: {
      kind: 'longrope',
      short: factors('short_factor'),
      long: factors('long_factor'),
      originalLength: original,
    },
    amplitude:
      rope.positiveOrNull('attention_factor') ??
      (factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original))),
  };
}

const KINDS: Readonly<Record<string, (fields: Fields) => Stretching>> = {
  default: () => plain({ kind: 'none' }),
  linear: ({ rope }) => plain({ kind: 'linear', factor: rope.positive('factor') }),
  dynamic: ({ rope, json }) =>
    plain({
      kind: 'dynamic',
      factor: rope.positive('factor'),
      originalLength: json.size('max_position_embeddings', 2048),
    }),
  llama3: ({ rope }) =>
    plain({
      kind: 'llama3',
      factor: rope.positive('factor'),
      lowFrequencyFactor: rope.positive('low_freq_factor'),
      highFrequencyFactor: rope.positive('high_freq_factor'),
      originalLength: rope.size('original_max_position_embeddings'),
    }),
  yarn,
  longrope,
};
/** What files of Phi-3 called it first. */
const OLDER_NAMES: Readonly<Record<string, string>> = { su: 'longrope' };

function stretchingOf(fields: Fields): Stretching {
  const { rope } = fields;
  const written = rope.text('rope_type', rope.text('type', 'default'));
  const kind = OLDER_NAMES[written] ?? written;
  if (!Object.hasOwn(KINDS, kind)) throw unsupported('rotary scaling', kind, Object.keys(KINDS));
  return KINDS[kind]!(fields);
}

/** See the file header; `absent` says what the family takes for fields that are left out. @throws model-unsupported, model-invalid */
export function rotaryOf(
  json: JsonConfig,
  headDim: number,
  { partial_rotary_factor: share, rope_theta: theta = 10_000 }: RotaryDefaults,
): Rotary {
  const rope = json.inner('rope_parameters');
  const name = 'partial_rotary_factor';
  // Families that do not name a share turn all of a head, whatever the file says.
  const part = share === undefined ? 1 : rope.positive(name, json.positive(name, share));
  const dims = Math.floor(headDim * part);
  if (dims > headDim) throw json.refusal(name, part, 'which turns more than there is of a head');
  if (dims % 2 !== 0)
    throw part === 1
      ? json.refusal('head_dim', headDim, 'an odd number, and rotary positions turn pairs')
      : json.refusal(
          name,
          part,
          `which turns ${dims} of ${headDim} elements, and not pairs of them`,
        );
  const pairs = dims / 2;
  const own = stretchingOf({ rope, json, pairs });
  return {
    kind: 'rotary',
    dims,
    theta: rope.positive('rope_theta', json.positive('rope_theta', theta)),
    ...(own.scaling.kind === 'none'
      ? stretchingOf({ rope: json.inner('rope_scaling'), json, pairs })
      : own),
  };
}
