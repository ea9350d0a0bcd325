/**
 * @file What users do to a training run between two steps: learning rates, frozen and replaced parameters, states saved and
 * loaded, other types, evaluation, hooks.
 */
import type { Dice } from '../dice.js';
import { type Code, block } from './code.js';

/** What an event may use. */
export interface Around {
  readonly dice: Dice;
  readonly wgpu: boolean;
  readonly hasRate: boolean;
  readonly hasEma: boolean;
  /** Text of the optimizer of a model. */
  readonly optimizerOf: (model: string) => string;
  readonly inputs: (n: number) => string;
}

type Event = (around: Around) => readonly Code[];

const parameter = (dice: Dice): string => `at(model.parameters(), ${dice.below(7)})`;
const layer = (dice: Dice): string => `at([...model.layers, model.head], ${dice.below(4)})`;

const EVENTS: readonly Event[] = [
  // Evaluation in between.
  ({ dice, inputs }) => [
    'model.eval();',
    `show(T.${dice.pick(['noGrad', 'noGrad', 'inferenceMode'])}(() => evaluate(${inputs(1 + dice.below(4))})));`,
    ...(dice.chance(0.8) ? ['model.train();'] : []),
  ],
  ({ dice, inputs }) => [`show(evaluate(${inputs(1 + dice.below(4))}));`],
  ({ dice }) => [`model.train(${dice.chance(0.5)});`],
  ({ dice }) => [`${layer(dice)}.train(${dice.chance(0.5)});`],
  // Learning rates and other options.
  ({ dice }) => [
    block('for (const group of opt.paramGroups) {', [
      `group.lr = group.lr * ${dice.pick([0.5, 2, 0])};`,
    ]),
  ],
  ({ dice }) => [`opt.paramGroups[0].lr = ${dice.pick([0.01, 0.2])};`],
  () => [`if ('weightDecay' in opt.paramGroups[0]) opt.paramGroups[0].weightDecay = 0.05;`],
  () => [`if ('momentum' in opt.paramGroups[0]) opt.paramGroups[0].momentum = 0.5;`],
  () => [`if ('betas' in opt.paramGroups[0]) opt.paramGroups[0].betas = [0.5, 0.7];`],
  ({ hasRate }) => (hasRate ? ['rate.step();'] : []),
  // Frozen and thawed.
  ({ dice }) => [`${layer(dice)}.requiresGrad_(false);`],
  ({ dice }) => [`${parameter(dice)}.requiresGrad = ${dice.chance(0.3)};`],
  () => ['model.requiresGrad_(true);'],
  ({ dice }) => [
    block('for (const p of model.parameters()) {', [
      `p.requiresGrad_(p.ndim ${dice.pick(['>', '<='])} 1);`,
    ]),
  ],
  // Gradients by hand.
  ({ dice }) => [`${parameter(dice)}.grad = null;`],
  ({ dice }) => [`${parameter(dice)}.grad?.mul_(0.5);`],
  ({ dice }) => [`{ const p = ${parameter(dice)}; p.grad = T.onesLike(p).mul(0.1); }`],
  ({ dice }) => [`model.zeroGrad(${dice.pick(['', '{ setToNone: false }'])});`],
  ({ dice }) => [`opt.zeroGrad(${dice.pick(['', '{ setToNone: false }'])});`],
  // Parameters written to, replaced and added.
  ({ dice }) => [`T.noGrad(() => ${parameter(dice)}.mul_(0.9));`],
  ({ dice }) => [
    `T.noGrad(() => ${parameter(dice)}.copy_(T.onesLike(${parameter(dice)}).mul(0.1).sum()));`,
  ],
  ({ dice }) => [`nn.init.uniform_(${parameter(dice)}, -0.5, 0.5);`],
  ({ dice }) => [
    'model.head.weight = new nn.Parameter(model.head.weight.detach().mul(0.5));',
    ...(dice.chance(0.7) ? ['opt.addParamGroup({ params: [model.head.weight] });'] : []),
  ],
  ({ dice, optimizerOf }) => [
    'model.head.bias = new nn.Parameter(T.zeros([3]).to(dtype).to(device));',
    ...(dice.chance(0.6) ? [`opt = ${optimizerOf('model')};`] : []),
  ],
  ({ optimizerOf }) => [`opt = ${optimizerOf('model')};`],
  // States.
  () => ['saved = copyOf(model.stateDict());'],
  () => ['if (saved !== null) model.loadStateDict(saved);'],
  () => ['model.loadStateDict(copyOf(model.stateDict()), { assign: true });'],
  ({ wgpu }) =>
    wgpu
      ? []
      : ['model.loadStateDict(T.parseSafetensors(T.serializeSafetensors(model.stateDict())));'],
  () => ['opt.loadStateDict(opt.stateDict());'],
  ({ optimizerOf }) => [
    'const told = opt.stateDict();',
    `opt = ${optimizerOf('model')};`,
    'opt.loadStateDict(told);',
  ],
  ({ hasRate }) =>
    hasRate ? ['rate.loadStateDict(JSON.parse(JSON.stringify(rate.stateDict())));'] : [],
  ({ optimizerOf }) => ['model = nn.cloneModule(model);', `opt = ${optimizerOf('model')};`],
  // Types.
  ({ dice, wgpu }) => {
    const type = wgpu
      ? dice.pick(['float32', 'float16'])
      : dice.pick(['float64', 'float32', 'bfloat16', 'float16']);
    return [`dtype = '${type}';`, 'model.to(dtype);'];
  },
  // Hooks.
  ({ dice }) => [`handles.push(${parameter(dice)}.registerHook((g) => g.mul(0.5)));`],
  ({ dice }) => [`handles.push(${layer(dice)}.registerForwardHook((m, args, y) => y.mul(0.5)));`],
  ({ dice }) => [
    `handles.push(${layer(dice)}.registerForwardHook((m, args, y) => void kept.push(y.detach())));`,
  ],
  ({ dice }) => [`handles.push(${layer(dice)}.registerForwardPreHook((m, [x]) => [x.mul(0.5)]));`],
  ({ dice }) => [
    `handles.push(${layer(dice)}.registerFullBackwardHook((m, inputs, outputs) => inputs.map((g) => g?.mul(0.5) ?? g)));`,
  ],
  ({ dice }) => [
    `handles.push(${parameter(dice)}.registerPostAccumulateGradHook((p) => p.grad.mul_(0.5)));`,
  ],
  () => ['handles.pop()?.remove();'],
  // Layers.
  ({ dice }) => [`{ const l = ${layer(dice)}; if ('p' in l) l.p = 0.5; }`],
  ({ dice }) => [`{ const l = ${layer(dice)}; if ('eps' in l) l.eps = 0.1; }`],
  // Random numbers.
  ({ dice }) => [`T.manualSeed(${dice.below(5)});`],
  () => ['state = T.getRngState();'],
  () => ['if (state !== null) T.setRngState(state);'],
  // Averages.
  ({ hasEma }) => (hasEma ? ['ema.updateParameters(model);'] : []),
  ({ hasEma, dice, inputs }) =>
    hasEma ? ['ema.eval();', `show(T.noGrad(() => ema.call(${inputs(1 + dice.below(3))})));`] : [],
  ({ hasEma }) => (hasEma ? ['model.loadStateDict(copyOf(ema.module.stateDict()));'] : []),
  ({ hasEma, inputs }) =>
    hasEma ? [`await swa.updateBn([${inputs(3)}, ${inputs(2)}], ema);`] : [],
  // What was kept is used.
  () => ['kept.at(-1)?.dispose();', 'kept.pop();'],
  () => ['kept.length = 0;'],
];

/** A random event; none where what was drawn needs something that there is not. */
export function randomEvent(around: Around): readonly Code[] {
  return around.dice.pick(EVENTS)(around);
}
