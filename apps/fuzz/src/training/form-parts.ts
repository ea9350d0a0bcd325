/**
 * @file What steps of all forms have in common: how they begin, what may happen before the update, and what they return.
 */
import type { Dice } from '../dice.js';
import { type Code, block } from './code.js';

/** What a step is made of. */
export interface Ingredients {
  readonly dice: Dice;
  readonly kind: 'labels' | 'targets';
  /** Steps are async functions, which await what they read. */
  readonly waits: boolean;
  readonly wgpu: boolean;
  /** Whether `rate`, `ema` exist. */
  readonly hasRate: boolean;
  readonly hasEma: boolean;
  /** Text of a second optimizer of `critic`, and of `other`. */
  readonly optimizerOf: (model: string) => string;
}

/** Statements that make a step, and those that take one of `n` rows. */
export interface Form {
  readonly setup: readonly Code[];
  readonly turn: (n: number, seed: number) => readonly Code[];
}

const THROW = 'if (flags.fail) throw new Stop();';

/** Puts a line that may throw somewhere. */
export function mayThrow(dice: Dice, code: readonly Code[]): Code[] {
  if (!dice.chance(0.6)) return [...code];
  const place = dice.below(code.length);
  return [...code.slice(0, place), THROW, ...code.slice(place)];
}

const ZEROS = ['', '', '{ setToNone: false }', '{ setToNone: true }'];

export function zeroed({ dice }: Ingredients, opt = 'opt', model = 'model'): string {
  return dice.chance(0.8)
    ? `${opt}.zeroGrad(${dice.pick(ZEROS)});`
    : `${model}.zeroGrad(${dice.pick(ZEROS)});`;
}

/** What may happen between the backward pass and the update. */
export function clipped({ dice, waits }: Ingredients, model = 'model'): Code[] {
  switch (dice.below(8)) {
    case 0:
      return [`nn.clipGradNorm_(${model}.parameters(), 0.5);`];
    case 1:
      return [`nn.clipGradValue_(${model}.parameters(), 0.1);`];
    case 2:
      return [
        `const norm = nn.clipGradNorm_(${model}.parameters(), 1, { normType: Infinity });`,
        'kept.push(norm);',
      ];
    case 3:
      return [
        block(`for (const p of ${model}.parameters()) {`, [
          'if (p.grad !== null) p.grad.mul_(0.5);',
        ]),
      ];
    case 4:
      return waits
        ? [
            block('if ((await value.item()) > 1.003) {', [
              `nn.clipGradNorm_(${model}.parameters(), 0.1);`,
            ]),
          ]
        : [];
    default:
      return [];
  }
}

export function finished({ dice, hasRate, hasEma }: Ingredients): string[] {
  return [
    ...(hasRate && dice.chance(0.6) ? ['rate.step();'] : []),
    ...(hasEma && dice.chance(0.7) ? ['ema.updateParameters(model);'] : []),
    ...(dice.chance(0.2) ? ['kept.push(value);'] : []),
    ...(dice.chance(0.1) ? ['kept.push(out.detach());'] : []),
    ...(dice.chance(0.1) ? [`flags.weigh = !flags.weigh;`] : []),
  ];
}

/** What a step returns. */
export const RETURNS: readonly string[] = [
  'return value;',
  'return value;',
  'return value.detach();',
  'return [value, out];',
  'return { value, out: out.detach() };',
  'return out;',
];

export function lossLines({ dice }: Ingredients, run = 'model.call(x)'): string[] {
  const lines = [`const out = ${run};`, 'const value = loss(out, y);'];
  if (dice.chance(0.15))
    lines[1] =
      'const value = loss(out, y).add(model.parameters().reduce((sum, p) => sum.add(p.square().sum()), T.tensor(0).to(device)).mul(0.01));';
  if (dice.chance(0.1)) lines[1] = 'const value = loss(out, y).mul(flags.weigh ? 2 : 1);';
  return lines;
}

export function batch({ kind }: Ingredients, n: number, seed: number): string {
  return `inputs(${n}, ${seed}), ${kind}(${n}, ${seed})`;
}

export function fn(
  name: string,
  params: string,
  body: readonly Code[],
  waits: boolean,
  compiled = true,
): Code {
  const begin = `${waits ? 'async ' : ''}(${params}) => {`;
  return compiled
    ? block(`const ${name} = wrap(${begin}`, body, '});')
    : block(`const ${name} = ${begin}`, body, '};');
}

export function turnOf(given: Ingredients, before = ''): Form['turn'] {
  return (n, seed) => {
    const call = `await step(${before}${batch(given, n, seed)})`;
    if (given.dice.chance(0.08) && !given.waits && !given.wgpu)
      return [`show(T.tidy(() => step(${before}${batch(given, n, seed)})));`];
    if (given.dice.chance(0.06))
      return [`const made = ${call};`, 'show(made);', 'made.dispose?.();'];
    return [`show(${call});`];
  };
}
