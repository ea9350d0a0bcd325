/**
 * @file Steps of other forms than a loss, its backward pass and an update: closures, several models, several losses, gradients asked for, mixed precision.
 */
import { block } from './code.js';
import {
  type Form,
  type Ingredients,
  RETURNS,
  batch,
  clipped,
  fn,
  lossLines,
  mayThrow,
  turnOf,
  zeroed,
} from './form-parts.js';

/** Two models: one is trained against the other. */
export function adversarial(given: Ingredients): Form {
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
export function twoLosses(given: Ingredients): Form {
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
export function asked(given: Ingredients): Form {
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
export function scaled(given: Ingredients): Form {
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
export function shared(given: Ingredients): Form {
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
export function byHand(given: Ingredients): Form {
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
export function penalised(given: Ingredients): Form {
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

/** LBFGS calls a closure, which is compiled, or the whole step is, or both. */
export function closures(given: Ingredients): Form {
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
