/**
 * @file What happens to a module between two calls of a program: children come, go and change places, attributes
 * change, a hook is registered.
 *
 * `NET_MODULES` and `CHILD_MODULES` make modules; the same names are printed as TypeScript.
 */
import {
  BatchNorm1d,
  Dropout,
  LayerNorm,
  Linear,
  Module,
  ModuleList,
  type Sequential,
  Tanh,
  type TensorModule,
} from '@tessera/nn';
import { type Tensor, manualSeed } from '@tessera/tensor';
import type { Dice } from './dice.js';

/** Children that come in between, each from [n, 3] to [n, 3]. */
const CHILDREN: Readonly<Record<ChildKind, () => TensorModule>> = {
  linear: () => new Linear(3, 3),
  tanh: () => new Tanh(),
  layerNorm: () => new LayerNorm(3),
  batchNorm: () => new BatchNorm1d(3),
  dropout: () => new Dropout(),
};

/** One of the children above. */
export type ChildKind = 'linear' | 'tanh' | 'layerNorm' | 'batchNorm' | 'dropout';

const CHILD_KINDS = Object.keys(CHILDREN) as readonly ChildKind[];

const CHILD_TEXT: Readonly<Record<ChildKind, string>> = {
  linear: 'new nn.Linear(3, 3)',
  tanh: 'new nn.Tanh()',
  layerNorm: 'new nn.LayerNorm(3)',
  batchNorm: 'new nn.BatchNorm1d(3)',
  dropout: 'new nn.Dropout()',
};

/** A module of a user: its children are a list, and a number of its own is part of what it computes. */
export class Chain extends Module {
  layers: ModuleList<TensorModule> = new ModuleList<TensorModule>([
    new Linear(3, 3),
    new Tanh(),
    new LayerNorm(3),
  ]);
  scale = 0.5;

  override forward(x: Tensor): Tensor {
    let value = x;
    for (const layer of this.layers) value = layer.call(value).mul(this.scale);
    return value;
  }
}

/** One change of a module. Positions are taken modulo how many children there are then. */
export type ModuleEdit =
  | { readonly edit: 'append'; readonly child: ChildKind; readonly seed: number }
  | {
      readonly edit: 'insert' | 'replace';
      readonly at: number;
      readonly child: ChildKind;
      readonly seed: number;
    }
  | { readonly edit: 'remove'; readonly at: number }
  /** Two children change places. */
  | { readonly edit: 'swap'; readonly at: number; readonly with: number }
  /** `eps` of a normalisation, `p` of a dropout, `scale` of a chain; of a child, or of a module without children. */
  | { readonly edit: 'attribute'; readonly at: number; readonly value: number }
  | { readonly edit: 'training' | 'hook'; readonly at: number }
  /** Whether one parameter takes a gradient is turned round. */
  | { readonly edit: 'requiresGrad'; readonly at: number };

type Fields = Record<string, unknown>;

/** The container whose children change. */
function containerOf(net: Module): Module {
  return net instanceof Chain ? net.layers : net;
}

function childrenOf(net: Module): TensorModule[] {
  return [...containerOf(net).children()] as TensorModule[];
}

/** Numbers the children anew, as fields of their container. */
function setChildren(net: Module, children: readonly TensorModule[]): void {
  const fields = containerOf(net) as unknown as Fields;
  while (childrenOf(net).length > children.length) delete fields[childrenOf(net).length - 1];
  children.forEach((child, i) => (fields[i] = child));
}

function makeChild(kind: ChildKind, seed: number): TensorModule {
  manualSeed(seed);
  return CHILDREN[kind]();
}

/** Applies a change. */
export function applyEdit(net: Module, edit: ModuleEdit): void {
  const children = childrenOf(net);
  const at = 'at' in edit && children.length > 0 ? edit.at % children.length : 0;
  const target = children[at] ?? net;
  switch (edit.edit) {
    case 'append':
      (containerOf(net) as Sequential).append(makeChild(edit.child, edit.seed));
      break;
    case 'insert':
      children.splice(at, 0, makeChild(edit.child, edit.seed));
      setChildren(net, children);
      break;
    case 'replace':
      (containerOf(net) as unknown as Fields)[at] = makeChild(edit.child, edit.seed);
      break;
    case 'remove':
      children.splice(at, 1);
      setChildren(net, children);
      break;
    case 'swap': {
      const other = edit.with % Math.max(1, children.length);
      [children[at], children[other]] = [children[other]!, children[at]!];
      if (children.length > 1) setChildren(net, children);
      break;
    }
    case 'attribute':
      if (net instanceof Chain && edit.at % 2 === 0) net.scale = edit.value;
      else if ('eps' in target) (target as unknown as Fields)['eps'] = edit.value;
      else if ('p' in target) (target as unknown as Fields)['p'] = edit.value;
      break;
    case 'training':
      target.train(!target.training);
      break;
    case 'hook':
      target.registerForwardHook((_module, _args, output) => (output as Tensor).mul(0.5));
      break;
    case 'requiresGrad': {
      const parameters = [...net.parameters()];
      const parameter = parameters[edit.at % Math.max(1, parameters.length)];
      if (parameter !== undefined) parameter.requiresGrad = !parameter.requiresGrad;
    }
  }
}

/** A change as TypeScript. */
export function printEdit(edit: ModuleEdit): string {
  const made = 'child' in edit ? `, () => ${CHILD_TEXT[edit.child]}` : '';
  const { edit: name, ...rest } = edit;
  const plain = Object.entries(rest).filter(([key]) => key !== 'child');
  const fields = plain.map(([key, value]) => `${key}: ${value}`).join(', ');
  return `edits.${name}(net, { ${fields} }${made});`;
}

/** The source of the above, for printed programs. */
export const MODULE_TEXT: readonly string[] = [
  'class Chain extends nn.Module {',
  '  layers = new nn.ModuleList<nn.TensorModule>([new nn.Linear(3, 3), new nn.Tanh(), new nn.LayerNorm(3)]);',
  '  scale = 0.5;',
  '  forward(x: T.Tensor): T.Tensor {',
  '    let value = x;',
  '    for (const layer of this.layers) value = layer.call(value).mul(this.scale);',
  '    return value;',
  '  }',
  '}',
  'type Edit = { at?: number; with?: number; seed?: number; value?: number };',
  'type Make = () => nn.TensorModule;',
  'type Fields = Record<string, unknown>;',
  'const containerOf = (net: nn.Module): nn.Module => (net instanceof Chain ? net.layers : net);',
  'const childrenOf = (net: nn.Module) => [...containerOf(net).children()] as nn.TensorModule[];',
  'const setChildren = (net: nn.Module, children: nn.TensorModule[]): void => {',
  '  const fields = containerOf(net) as unknown as Fields;',
  '  while (childrenOf(net).length > children.length) delete fields[childrenOf(net).length - 1];',
  '  children.forEach((child, i) => (fields[i] = child));',
  '};',
  'const placeOf = (net: nn.Module, at = 0): number => at % Math.max(1, childrenOf(net).length);',
  'const made = (seed: number, make: Make): nn.TensorModule => (T.manualSeed(seed), make());',
  'const edits = {',
  '  append: (net: nn.Module, { seed }: Edit, make: Make) =>',
  '    void (containerOf(net) as nn.Sequential).append(made(seed!, make)),',
  '  insert: (net: nn.Module, { at, seed }: Edit, make: Make) =>',
  '    setChildren(net, childrenOf(net).toSpliced(placeOf(net, at), 0, made(seed!, make))),',
  '  replace: (net: nn.Module, { at, seed }: Edit, make: Make) =>',
  '    void ((containerOf(net) as unknown as Fields)[placeOf(net, at)] = made(seed!, make)),',
  '  remove: (net: nn.Module, { at }: Edit) =>',
  '    setChildren(net, childrenOf(net).toSpliced(placeOf(net, at), 1)),',
  '  swap: (net: nn.Module, { at, with: other }: Edit) => {',
  '    const children = childrenOf(net);',
  '    const [a, b] = [placeOf(net, at), placeOf(net, other)];',
  '    if (children.length < 2) return;',
  '    [children[a], children[b]] = [children[b]!, children[a]!];',
  '    setChildren(net, children);',
  '  },',
  '  attribute: (net: nn.Module, { at, value }: Edit) => {',
  '    const target = (childrenOf(net)[placeOf(net, at)] ?? net) as unknown as Fields;',
  '    if (net instanceof Chain && at! % 2 === 0) net.scale = value!;',
  "    else if ('eps' in target) target['eps'] = value;",
  "    else if ('p' in target) target['p'] = value;",
  '  },',
  '  training: (net: nn.Module, { at }: Edit) => {',
  '    const target = childrenOf(net)[placeOf(net, at)] ?? net;',
  '    target.train(!target.training);',
  '  },',
  '  hook: (net: nn.Module, { at }: Edit) =>',
  '    void (childrenOf(net)[placeOf(net, at)] ?? net).registerForwardHook((_m, _a, y) => (y as T.Tensor).mul(0.5)),',
  '  requiresGrad: (net: nn.Module, { at }: Edit) => {',
  '    const parameters = [...net.parameters()];',
  '    const parameter = parameters[at! % Math.max(1, parameters.length)];',
  '    if (parameter !== undefined) parameter.requiresGrad = !parameter.requiresGrad;',
  '  },',
  '};',
];

/** Changes before a call; a module without a list of children only gets those that need none. */
export function randomEdits(dice: Dice, hasList: boolean): ModuleEdit[] {
  return Array.from({ length: 1 + dice.below(2) }, (): ModuleEdit => {
    const at = dice.below(4);
    const seed = 20 + dice.below(5);
    const child = dice.pick(CHILD_KINDS);
    switch (dice.below(hasList ? 9 : 4)) {
      case 0:
        return { edit: 'attribute', at, value: dice.pick([0.25, 0.1, 0.9]) };
      case 1:
        return { edit: 'training', at };
      case 2:
        return { edit: 'requiresGrad', at };
      case 3:
        return { edit: 'hook', at };
      case 4:
        return { edit: 'append', child, seed };
      case 5:
        return { edit: 'insert', at, child, seed };
      case 6:
        return { edit: 'replace', at, child, seed };
      case 7:
        return { edit: 'remove', at };
      default:
        return { edit: 'swap', at, with: at + 1 + dice.below(2) };
    }
  });
}
