/**
 * @file What a workload is: one file in `workloads/` says everything about it, also how each library
 * writes it, so that adding one touches that file and the list in `workloads/index.ts`.
 *
 * A program is either a function of the inputs, or a step that also changes a state (weights).
 */
import type { CompileOptions } from '@tessera/compile';
import type { Tensor } from '@tessera/tensor';
import type * as Jax from '@jax-js/jax';
import type * as Tfjs from '@tensorflow/tfjs-core';
import type { OnnxGraph } from '../onnx/onnx-graph.js';
import type { Tolerance } from './check.js';
import type { HostArray } from './host-array.js';

/** Where a workload runs: sizes differ, as a GPU needs more work to be busy. */
export type Device = 'cpu' | 'wgpu';

/** What a case is made for. */
export interface Setting {
  readonly device: Device;
  /** Smaller, for a look at whether everything works. */
  readonly quick: boolean;
  /** Counts fresh instances of the same workload; a workload of kind 'first-call' changes its shapes with it. */
  readonly variant: number;
}

/** Work of one run, of which rates are computed. */
export interface Work {
  /** Floating point operations. */
  readonly flop?: number;
  /** Bytes that must cross the memory bus: inputs read once, outputs written once. */
  readonly bytes?: number;
}

/** For Tessera: tensors in, a tensor out; a step keeps its own modules and optimizer. */
export type TesseraProgram = (inputs: readonly Tensor[]) => {
  readonly fn: (...args: Tensor[]) => Tensor;
  /** Arguments of each call. */
  readonly args: readonly Tensor[];
  /** Tensors that calls change in place; part of the result. */
  readonly state?: readonly Tensor[];
};

/** A function of the inputs, in a library's own terms. */
export interface FunctionProgram<Lib, T> {
  readonly kind: 'function';
  readonly make: (lib: Lib) => (...inputs: T[]) => T;
}

/** What the libraries' training steps start from. */
interface StepProgram {
  readonly kind: 'step';
  readonly state: readonly HostArray[];
  readonly inputs: readonly HostArray[];
  /** Brings loss and state into the layout of the reference. */
  readonly toResult: (loss: Float32Array, state: readonly Float32Array[]) => Float32Array;
}

/** A training step that replaces its state. */
export interface JaxStepProgram extends StepProgram {
  readonly make: (
    jax: typeof Jax,
  ) => (state: Jax.Array[], ...inputs: Jax.Array[]) => [loss: Jax.Array, state: Jax.Array[]];
}

/** A training step that changes variables. */
export interface TfjsStepProgram extends StepProgram {
  readonly make: (
    tf: typeof Tfjs,
  ) => (state: Tfjs.Variable[], ...inputs: Tfjs.Tensor[]) => Tfjs.Scalar;
}

/** The workload in each library's terms; one that is left out cannot express it. */
export interface Programs {
  readonly tessera: TesseraProgram;
  readonly jax?: FunctionProgram<typeof Jax, Jax.Array> | JaxStepProgram;
  readonly tfjs?: FunctionProgram<typeof Tfjs, Tfjs.Tensor> | TfjsStepProgram;
  /** An ONNX graph of the inputs, named `x0`, `x1`, …, with one output `y`. */
  readonly onnx?: () => OnnxGraph;
}

/** A workload at one size, with its inputs. */
export interface Case {
  /** Sizes in words, for the table. */
  readonly shapes: string;
  readonly work: Work;
  readonly inputs: readonly HostArray[];
  readonly programs: Programs;
  /** Options of `compile`. */
  readonly compileOptions?: CompileOptions;
  /** Calls after which results are compared: more than one for a step, whose state they change. */
  readonly checkedCalls: number;
  readonly tolerance: Tolerance;
  /** Elements of the result, the state included. */
  readonly resultSize: number;
  /** Element `index` of the result, computed in double precision. */
  readonly reference: (index: number) => number;
}

/** A workload. */
export interface Workload {
  /** As in PyTorch's recorded figures, where they have it. */
  readonly name: string;
  /** Another name that selects it, with others. */
  readonly group?: string;
  readonly about: string;
  /** Devices on which it runs when no workload is named. */
  readonly devices: readonly Device[];
  /** `steady`: repeated calls; `first-call`: a first call in a fresh process, and later ones of fresh functions. */
  readonly kind: 'steady' | 'first-call';
  make(setting: Setting): Case;
}
