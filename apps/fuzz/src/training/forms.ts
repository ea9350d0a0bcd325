/**
 * @file The forms of a training step: which part of it is one function, and which functions are compiled.
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
function mayThrow(dice: Dice, code: readonly Code[]): Code[] {
  if (!dice.chance(0.6)) return [...code];
  const place = dice.below(code.length);
  return [...code.slice(0, place), THROW, ...code.slice(place)];
}

const ZEROS = ['', '', '{ setToNone: false }', '{ setToNone: true }'];

function zeroed({ dice }: Ingredients, opt = 'opt', model = 'model'): string {
  return dice.chance(0.8)
    ? `${opt}.zeroGrad(${dice.pick(ZEROS)});`
    : `${model}.zeroGrad(${dice.pick(ZEROS)});`;
}

/** What may happen between the backward pass and the update. */
function clipped({ dice, waits }: Ingredients, model = 'model'): Code[] {
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

function finished({ dice, hasRate, hasEma }: Ingredients): string[] {
  return [
    ...(hasRate && dice.chance(0.6) ? ['rate.step();'] : []),
    ...(hasEma && dice.chance(0.7) ? ['ema.updateParameters(model);'] : []),
    ...(dice.chance(0.2) ? ['kept.push(value);'] : []),
    ...(dice.chance(0.1) ? ['kept.push(out.detach());'] : []),
    ...(dice.chance(0.1) ? [`flags.weigh = !flags.weigh;`] : []),
  ];
}

const RETURNS = [
  'return value;',
  'return value;',
  'return value.detach();',
  'return [value, out];',
  'return { value, out: out.detach() };',
  'return out;',
];

function lossLines({ dice }: Ingredients, run = 'model.call(x)'): string[] {
  const lines = [`const out = ${run};`, 'const value = loss(out, y);'];
  if (dice.chance(0.15))
    lines[1] =
      'const value = loss(out, y).add(model.parameters().reduce((sum, p) => sum.add(p.square().sum()), T.tensor(0).to(device)).mul(0.01));';
  if (dice.chance(0.1)) lines[1] = 'const value = loss(out, y).mul(flags.weigh ? 2 : 1);';
  return lines;
}

function batch({ kind }: Ingredients, n: number, seed: number): string {
  return `inputs(${n}, ${seed}), ${kind}(${n}, ${seed})`;
}

function fn(
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

function turnOf(given: Ingredients, before = ''): Form['turn'] {
  return (n, seed) => {
    const call = `await step(${before}${batch(given, n, seed)})`;
    if (given.dice.chance(0.08) && !given.waits)
      return [`show(T.tidy(() => step(${before}${batch(given, n, seed)})));`];
    if (given.dice.chance(0.06))
      return [`const made = ${call};`, 'show(made);', 'made.dispose?.();'];
    return [`show(${call});`];
  };
}

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

/** LBFGS calls a closure, which is compiled, or the whole step is, or both. */
function closures(given: Ingredients): Form {
  const { dice, wgpu } = given;
  const search = dice.chance(0.5) ? ", lineSearchFn: 'strong_wolfe'" : '';
  const [inside, outside] = dice.pick([
    [true, false],
    [false, true],
    [true, true],
  ]);
  const how = wgpu ? 'await solver.stepAsync' : 'solver.step';
  const closure = [
    'solver.zeroGrad();',
    'const value = loss(model.call(given.x), given.y);',
    'value.backward();',
    'return value;',
  ];
  return {
    setup: [
      `let solver = new optim.LBFGS(model.parameters(), { lr: 0.2, maxIter: ${2 + dice.below(3)}, historySize: 3${search} });`,
      "see('solver', () => solver);",
      'const given = { x: null, y: null };',
      fn('closure', '', closure, false, inside),
      fn(
        'step',
        'x, y',
        ['given.x = x;', 'given.y = y;', `return ${how}(closure);`],
        wgpu,
        outside,
      ),
    ],
    turn: turnOf(given),
  };
}

/** Two models: one is trained against the other. */
function adversarial(given: Ingredients): Form {
  const { dice, waits, optimizerOf } = given;
  const body = mayThrow(dice, [
    'criticOpt.zeroGrad();',
    'const out = model.call(x);',
    'const real = critic.call(targets(x.shape[0], 1));',
    'const fake = critic.call(out.detach());',
    'const value = F.softplus(fake).mean().add(F.softplus(real.neg()).mean());',
    'value.backward();',
    'criticOpt.step();',
    zeroed(given),
    ...(dice.chance(0.3) ? ['critic.requiresGrad_(false);'] : []),
    'const fooled = F.softplus(critic.call(out).neg()).mean();',
    'fooled.backward();',
    'opt.step();',
    'critic.requiresGrad_(true);',
    'return [value, fooled];',
  ]);
  return {
    setup: [
      'const critic = new nn.Sequential(new nn.Linear(3, 4), new nn.LeakyReLU(0.2), new nn.Linear(4, 1)).to(device);',
      "see('critic', () => critic);",
      `const criticOpt = ${optimizerOf('critic')};`,
      "see('criticOpt', () => criticOpt);",
      fn('step', 'x', body, waits),
    ],
    turn: (n, seed) => [`show(await step(inputs(${n}, ${seed})));`],
  };
}

/** Two losses of one graph. */
function twoLosses(given: Ingredients): Form {
  const { dice, waits } = given;
  const body = mayThrow(dice, [
    zeroed(given),
    ...lossLines(given),
    'value.backward(null, { retainGraph: true });',
    ...(dice.chance(0.5) ? ['kept.push(model.parameters()[0].grad?.clone());'] : []),
    'out.square().mean().backward();',
    ...clipped(given),
    'opt.step();',
    dice.pick(RETURNS),
  ]);
  return { setup: [fn('step', 'x, y', body, waits)], turn: turnOf(given) };
}

/** `grad()` instead of `backward()`. */
function asked(given: Ingredients): Form {
  const { dice, waits } = given;
  const how = dice.pick([
    'p.grad = grads[i];',
    'p.grad = p.grad === null ? grads[i] : p.grad.add(grads[i]);',
  ]);
  const update = dice.chance(0.7)
    ? [block('for (const [i, p] of params.entries()) {', [how]), ...clipped(given), 'opt.step();']
    : [
        block(
          'T.noGrad(() => {',
          ['params.forEach((p, i) => grads[i] && p.sub_(grads[i], { alpha: 0.1 }));'],
          '});',
        ),
      ];
  const body = mayThrow(dice, [
    'const params = model.parameters().filter((p) => p.requiresGrad);',
    ...lossLines(given),
    'const grads = T.grad(value, params, { allowUnused: true });',
    ...update,
    dice.pick(RETURNS),
  ]);
  return { setup: [fn('step', 'x, y', body, waits)], turn: turnOf(given) };
}

/** Mixed precision, with a scale of the loss that grows and shrinks. */
function scaled(given: Ingredients): Form {
  const { dice, wgpu, waits } = given;
  const type = dice.chance(0.7) ? 'bfloat16' : 'float16';
  const scaler = dice.chance(0.75);
  const how =
    wgpu || (waits && dice.chance(0.5)) ? 'await scaler.stepAsync(opt);' : 'scaler.step(opt);';
  const body = mayThrow(dice, [
    zeroed(given),
    `const out = T.autocast({ device, dtype: '${type}' }, () => model.call(x));`,
    'const value = loss(out.to(dtype), y);',
    ...(scaler
      ? [
          'scaler.scale(value).backward();',
          ...(dice.chance(0.5)
            ? ['scaler.unscale_(opt);', 'nn.clipGradNorm_(model.parameters(), 0.5);']
            : []),
          how,
          'scaler.update();',
        ]
      : ['value.backward();', 'opt.step();']),
    dice.pick(RETURNS),
  ]);
  return {
    setup: [
      ...(scaler
        ? [
            `const scaler = new nn.GradScaler({ device, initScale: ${dice.pick([4, 1024, 2 ** 120])}, growthInterval: 2 });`,
            "see('scaler', () => scaler);",
          ]
        : []),
      fn('step', 'x, y', body, waits || wgpu),
    ],
    turn: turnOf(given),
  };
}

/** One step for two models. */
function shared(given: Ingredients): Form {
  const { dice, waits, optimizerOf } = given;
  const body = mayThrow(dice, [
    zeroed(given),
    ...lossLines(given),
    'value.backward();',
    'opt.step();',
    dice.pick(RETURNS),
  ]);
  const pairs = ['model, opt', 'other, otherOpt'];
  return {
    setup: [
      dice.chance(0.5)
        ? 'const other = nn.cloneModule(model);'
        : 'const other = new Net([new nn.Linear(4, 4)], new nn.Linear(4, 3)).to(device);',
      "see('other', () => other);",
      `const otherOpt = ${optimizerOf('other')};`,
      "see('otherOpt', () => otherOpt);",
      fn('step', 'model, opt, x, y', body, waits),
    ],
    turn: (n, seed) => {
      const order = dice.chance(0.5) ? pairs : [...pairs].reverse();
      const turns = order.map((pair) => `show(await step(${pair}, ${batch(given, n, seed)}));`);
      return dice.chance(0.7) ? turns : [turns[0]!];
    },
  };
}

/** Updates by hand, or an optimizer for each parameter that a hook runs in the backward pass. */
function byHand(given: Ingredients): Form {
  const { dice, waits } = given;
  if (dice.chance(0.4)) {
    return {
      setup: [
        block('for (const p of model.parameters()) {', [
          'const own = new optim.SGD([p], { lr: 0.05, momentum: 0.9 });',
          block(
            'p.registerPostAccumulateGradHook(() => {',
            ['own.step();', 'own.zeroGrad();'],
            '});',
          ),
        ]),
        fn(
          'step',
          'x, y',
          mayThrow(dice, [...lossLines(given), 'value.backward();', dice.pick(RETURNS)]),
          waits,
        ),
      ],
      turn: turnOf(given),
    };
  }
  const after = dice.pick(['p.grad = null;', 'p.grad.zero_();', 'p.grad = T.zerosLike(p);']);
  const body = mayThrow(dice, [
    ...lossLines(given),
    'value.backward();',
    block(
      'T.noGrad(() => {',
      [
        block('for (const p of model.parameters()) {', [
          'if (p.grad === null) continue;',
          dice.pick([
            'p.sub_(p.grad, { alpha: 0.1 });',
            'p.add_(p.grad.mul(-0.1));',
            'p.copy_(p.sub(p.grad.mul(0.1)));',
          ]),
          after,
        ]),
      ],
      '});',
    ),
    dice.pick(RETURNS),
  ]);
  return { setup: [fn('step', 'x, y', body, waits)], turn: turnOf(given) };
}

/** A penalty on the gradient by the inputs. */
function penalised(given: Ingredients): Form {
  const { dice } = given;
  const body = [
    zeroed(given),
    'const given = x.detach().requiresGrad_();',
    'const out = model.call(given);',
    'const [slope] = T.grad(out.sum(), [given], { createGraph: true });',
    'const value = loss(out, y).add(slope.square().sum().mul(0.1));',
    'value.backward();',
    'opt.step();',
    dice.pick(RETURNS),
  ];
  return { setup: [fn('step', 'x, y', body, false)], turn: turnOf(given) };
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
