/**
 * @file The forms of a training step: which part of it is one function, and which functions are compiled.
 */
import { type Code, block } from './code.js';
import {
  type Form,
  type Ingredients,
  RETURNS,
  batch,
  clipped,
  finished,
  fn,
  lossLines,
  mayThrow,
  turnOf,
  zeroed,
} from './form-parts.js';

import {
  adversarial,
  twoLosses,
  asked,
  scaled,
  shared,
  byHand,
  penalised,
  closures,
} from './special-forms.js';

function whole(given: Ingredients): Form {
  const { dice, waits } = given;
  const body = mayThrow(dice, [
    ...(dice.chance(0.85) ? [zeroed(given)] : []),
    ...lossLines(given),
    'value.backward();',
    ...clipped(given),
    'opt.step();',
    ...finished(given),
    ...(dice.chance(0.15) ? [zeroed(given)] : []),
    dice.pick(RETURNS),
  ]);
  return { setup: [fn('step', 'x, y', body, waits)], turn: turnOf(given) };
}

/** The model, or the model and the loss, or all but the update is compiled; the rest is not. */
function parts(given: Ingredients): Form {
  const { dice, waits } = given;
  const update = [...clipped(given), 'opt.step();', ...finished(given), dice.pick(RETURNS)];
  const setup: Code[] = [];
  const split = dice.below(5);
  if (split === 0) setup.push('const forward = wrap((x) => model.call(x));');
  if (split === 4) setup.push('const forward = wrap(model);');
  if (split === 1)
    setup.push(fn('forward', 'x, y', [...lossLines(given), 'return [out, value];'], false));
  const inner: Code[] =
    split === 0 || split === 4
      ? [zeroed(given), ...lossLines(given, 'forward(x)'), 'value.backward();']
      : split === 1
        ? [zeroed(given), 'const [out, value] = forward(x, y);', 'value.backward();']
        : split === 2
          ? ['const [out, value] = forward(x, y);']
          : [zeroed(given), ...lossLines(given), 'value.backward();'];
  if (split === 2)
    setup.push(
      fn(
        'forward',
        'x, y',
        mayThrow(dice, [
          zeroed(given),
          ...lossLines(given),
          'value.backward();',
          'return [out, value];',
        ]),
        false,
      ),
    );
  if (split === 3) setup.push('const update = wrap(() => void opt.step());');
  const last =
    split === 3 ? update.map((line) => (line === 'opt.step();' ? 'update();' : line)) : update;
  setup.push(fn('step', 'x, y', mayThrow(dice, [...inner, ...last]), waits, false));
  return { setup, turn: turnOf(given) };
}

/** Gradients of several batches. */
function accumulated(given: Ingredients): Form {
  const { dice, waits } = given;
  if (dice.chance(0.4)) {
    const body = mayThrow(dice, [
      zeroed(given),
      'let value = null;',
      'let out = null;',
      block('for (const [i, part] of x.chunk(2).entries()) {', [
        'out = model.call(part);',
        'value = loss(out, y.chunk(2)[i]).div(2);',
        'value.backward();',
      ]),
      ...clipped(given),
      'opt.step();',
      ...finished(given),
      dice.pick(RETURNS),
    ]);
    return { setup: [fn('step', 'x, y', body, waits)], turn: turnOf(given) };
  }
  const micro = mayThrow(dice, [
    ...lossLines(given),
    'value.div(2).backward();',
    dice.pick(RETURNS),
  ]);
  const update = [
    ...(dice.chance(0.3) ? ['nn.clipGradNorm_(model.parameters(), 0.5);'] : []),
    'opt.step();',
    zeroed(given),
  ];
  return {
    setup: [fn('step', 'x, y', micro, false), fn('update', '', update, false, dice.chance(0.6))],
    turn: (n, seed) => [
      `show(step(${batch(given, n, seed)}));`,
      `show(step(${batch(given, n, seed + 1)}));`,
      'update();',
    ],
  };
}

/** A random form. */
export function randomForm(given: Ingredients): Form {
  const { dice } = given;
  const forms = [
    whole,
    whole,
    whole,
    parts,
    parts,
    accumulated,
    closures,
    adversarial,
    twoLosses,
    asked,
    scaled,
    shared,
    byHand,
    penalised,
  ];
  return dice.pick(forms)(given);
}
