/**
 * @file Mistakes with compile(), its configuration, graphs and backends.
 */
import {
  compile,
  compiledFunctionOf,
  config,
  explain,
  exportFromJson,
  exportGraph,
  graphBreak,
  kernelBackend,
  lookupBackend,
  markDynamic,
  profile,
  registerBackend,
  setLogs,
} from '@tessera/compile';
import { aotFunction } from '@tessera/aot-autograd';
import { Graph, Interpreter, lintGraph, makeFx, symbolicTrace } from '@tessera/graph';
import { planFromJson } from '@tessera/inductor-core';
import { Linear, optim } from '@tessera/nn';
import { type Tensor, getOp, ones } from '@tessera/tensor';
import type { Mistake } from './mistake.js';

const any = (value: unknown): never => value as never;
const double = (x: Tensor): Tensor => x.mul(2);

export const COMPILE_MISTAKES: readonly Mistake[] = [
  [
    'something that is no function',
    () => compile(any(3)),
    'invalid-argument',
    'number',
    'Wrap it: compile((x) => …).',
  ],
  [
    'nothing to compile',
    () => compile(any(undefined)),
    'invalid-argument',
    'undefined',
    'Wrap it: compile((x) => …).',
  ],
  [
    'a number for the options',
    () => compile(double, any(5)),
    'invalid-argument',
    'options are an object, not 5',
    "Name them: compile(fn, { backend: 'inductor' }).",
  ],
  [
    'nothing for the options',
    () => compile(double, any(null)),
    'invalid-argument',
    'options are an object, not null',
    "Name them: compile(fn, { backend: 'inductor' }).",
  ],
  [
    'arguments beside the function that is explained',
    () => explain(double, any(ones([2]))),
    'invalid-argument',
    'not a Tensor',
    'explain(fn)(x)',
  ],
  [
    'arguments beside the function that is compiled',
    () => compile(double, any(ones([2]))),
    'invalid-argument',
    'not a Tensor',
    'compile(fn)(x)',
  ],
  [
    'an option that explain does not have',
    () => explain(double, any({ verbose: true })),
    'invalid-argument',
    "explain() has no option 'verbose'",
    'Its options are',
  ],
  [
    'a size that is exported from 1 on',
    () => exportGraph(double, [ones([4, 3])], { dynamicShapes: [{ 0: { min: 1 } }] }),
    'invalid-argument',
    'declared to be from 1',
    '0 and 1 are exported apart',
  ],
  [
    'an object that has no backend',
    () => compile(double, { backend: any({}) }),
    'unknown-backend',
    'There is no backend',
    "Pass a function, or register one with registerBackend('name', backend).",
  ],
  [
    'a misspelt backend',
    () => compile(double, { backend: 'inducter' }),
    'unknown-backend',
    'inducter',
    "Did you mean 'inductor'?",
  ],
  [
    'a backend that is a number',
    () => compile(double, { backend: any(3) }),
    'unknown-backend',
    '3',
    'Pass a function, or register one',
  ],
  [
    'a misspelt option of the compiler',
    () => compile(double, { options: { freezin: true } }),
    'unknown-config-key',
    'freezin',
    "Did you mean 'freezing' or",
  ],
  [
    'a misspelt option of compile',
    () => compile(double, any({ fullGraph: true })),
    'invalid-argument',
    'fullGraph',
    "Did you mean 'fullgraph'?",
  ],
  [
    'an option of the wrong type',
    () => compile(double, { dynamic: any('yes') }),
    'invalid-argument',
    'dynamic',
    'Leave it out for the default.',
  ],
  [
    'a misspelt configuration key',
    () => config.patch(any({ 'trace.recompileLimt': 1 }), () => 0),
    'unknown-config-key',
    'recompileLimt',
    'Did you mean',
  ],
  [
    'a wrong configuration value',
    () => config.patch(any({ 'eager.kernels': 'fast' }), () => 0),
    'invalid-config-value',
    'fast',
    'eager.kernels: What eager ops on',
  ],
  [
    'a log that does not exist',
    () => setLogs(any({ guard: true })),
    'unknown-log-artifact',
    'guard',
    "Did you mean 'guards'?",
  ],
  [
    'a function that compile did not make',
    () => compiledFunctionOf(double),
    'invalid-argument',
    'double',
    'Pass what compile() returned.',
  ],
  [
    'a graph break under fullgraph',
    () =>
      compile(
        (x: Tensor) => {
          const y = x.mul(2);
          graphBreak();
          return y.add(1);
        },
        { fullgraph: true },
      )(ones([2])),
    'trace-full-graph',
    'graphBreak() was called',
    'Remove the call to get one graph.',
  ],
  [
    'item() under fullgraph',
    () =>
      compile((x: Tensor) => x.mul(x.sum().item()), { fullgraph: true, backend: 'eager' })(
        ones([2]),
      ),
    'trace-full-graph',
    'the value of a tensor was read',
    'Read values after the compiled',
  ],
  [
    'wrong shapes inside a compiled function',
    () => compile((x: Tensor) => x.add(ones([4])), { backend: 'eager' })(ones([3])),
    'shape-mismatch',
    '[3]',
    'Sizes are equal or 1, from',
  ],
  [
    'a wrong argument inside a compiled function',
    () => compile((x: Tensor) => x.sum(any('x')), { backend: 'eager' })(ones([3])),
    'schema-arguments',
    'dim',
    'Pass an array of whole numbers.',
  ],
  [
    'a backend that returns nothing',
    () => compile(double, { backend: any(() => null) })(ones([2])),
    'unknown-backend',
    'object',
    'A backend takes (graphModule,',
  ],
  [
    'compiled code that returns one tensor, not a list',
    () => compile(double, { backend: any(() => (inputs: Tensor[]) => inputs[0]) })(ones([2])),
    'unknown-backend',
    'no list of values',
    'It returns an array, also of one value',
  ],
  [
    'compiled code that returns too few tensors',
    () => compile(double, { backend: any(() => () => []) })(ones([2])),
    'unknown-backend',
    '0 values',
    'It returns an array, also of one value',
  ],
  [
    'compiled code that returns nothing',
    () => compile(double, { backend: any(() => () => undefined) })(ones([2])),
    'unknown-backend',
    'no list of values',
    'It returns an array, also of one value',
  ],
  [
    'a dimension to mark that is not there',
    () => markDynamic(ones([2]), 3),
    'invalid-argument',
    '3',
    'The tensor has shape [2].',
  ],
  [
    'something to mark that is no tensor',
    () => markDynamic(any(3), 0),
    'invalid-argument',
    '3',
    'Mark an argument before the call:',
  ],
  [
    'an exported graph of another size',
    () => exportGraph(double, [ones([2])]).call(ones([3])),
    'export-guard',
    '3',
    'Export the function again with',
  ],
  [
    'an exported graph that is none',
    () => exportFromJson(any('{}')),
    'export-invalid',
    'Version undefined',
    'Export the function again.',
  ],
  [
    'JSON that is none',
    () => exportFromJson(any('not json')),
    'export-invalid',
    'Version undefined',
    'Export the function again.',
  ],
  [
    'a device without kernels',
    () => kernelBackend('tpu'),
    'device-unavailable',
    'tpu',
    'Register one with',
  ],
  [
    'a backend without a name',
    () => registerBackend('', any(double)),
    'invalid-argument',
    'name',
    "registerBackend('mine',",
  ],
  [
    'a backend that is no function',
    () => registerBackend('mine', any(3)),
    'invalid-argument',
    'mine',
    "registerBackend('mine',",
  ],
  [
    'a backend looked up by nothing',
    () => lookupBackend(any(undefined)),
    'unknown-backend',
    'undefined',
    'Pass a function, or register one',
  ],
  [
    'a graph without output',
    () => {
      const graph = new Graph();
      graph.placeholder('x');
      lintGraph(graph);
    },
    'graph-lint',
    'output',
    'End it with graph.output(value).',
  ],
  [
    'a graph run with too few inputs',
    () => new Interpreter(makeFx(double)(ones([2]))).run(),
    'graph-lint',
    "'x'",
    'It takes: x.',
  ],
  [
    'a trace of nothing',
    () => symbolicTrace(any(3)),
    'invalid-argument',
    '3',
    'Wrap what is to run:',
  ],
  [
    'a trace in an unknown mode',
    () => makeFx(double, { tracingMode: any('fast') })(ones([2])),
    'invalid-argument',
    'fast',
    "Leave it out for 'fake': nothing",
  ],
  [
    'a call of what is no operator',
    () => {
      const graph = new Graph();
      graph.output(graph.callFunction(any('aten::nothing'), []));
      lintGraph(graph);
    },
    'graph-lint',
    'nothing',
    'The target of call_function is an',
  ],
  [
    'a plan that is none',
    () => planFromJson(any('{}')),
    'plan-invalid',
    'format',
    'Compile it again with the',
  ],
  [
    'AOT of something that is no function',
    () => aotFunction(any(3), any({})),
    'invalid-argument',
    'aotFunction() takes a function, not 3',
    'Wrap what is to run:',
  ],
  [
    'a profile of nothing',
    () => profile(any(3)),
    'invalid-argument',
    '3',
    'Wrap what is to run: profile(()',
  ],
  [
    'an operator on a graph node',
    () => getOp('aten::add'),
    'op-unknown',
    'aten::add',
    'Nearest names: aten::addr,',
  ],
  [
    'an export of a training step',
    () => {
      const model = new Linear(2, 1);
      const optimizer = new optim.SGD(model.parameters());
      return exportGraph(
        (x: Tensor) => {
          const loss = model.call(x).sum();
          loss.backward();
          optimizer.step();
          return loss;
        },
        [ones([1, 2])],
      );
    },
    'pure-side-effect',
    'step() of an optimizer',
    'Export what computes the loss',
  ],
];
