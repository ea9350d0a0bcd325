/**
 * @file What an engine is: an adapter that runs a workload's program with one library.
 *
 * A library is loaded only when its engine is asked for, and it may refuse a workload, with the reason.
 */
import type { Case, Device, Workload } from './workload.js';
import type { Range } from './ranges.js';

/** How engines are set up. */
export interface EngineOptions {
  readonly device: Device;
  /** Threads that CPU engines may use, counting the calling one. */
  readonly threads: number;
  /** Backend of `compile` that the engine `tessera` uses. */
  readonly backend: string;
  /** Path of Dawn's Node binding, where there is no npm package to find it in. */
  readonly dawn: string | null;
  /** Flags for Dawn. */
  readonly dawnFlags: readonly string[];
}

/** A workload made ready: inputs uploaded, nothing compiled. */
export interface Prepared {
  /** Compiles and runs once, which a user waits for. Called once, first. */
  first(): void | Promise<void>;
  /** Runs once more. Work on a device may still be under way when it returns. */
  run(): void | Promise<void>;
  /** Waits for the device. */
  finish?(): Promise<void>;
  /** The last result with the state after it, flattened: all of it, or the elements in some ranges. */
  result(ranges: readonly Range[] | null): Promise<Float32Array>;
  dispose(): void | Promise<void>;
}

/** Why an engine cannot run a workload. */
export interface Unsupported {
  readonly unsupported: string;
}

/** Figures measured earlier, on another machine. Times in µs. */
export interface Recorded {
  readonly recorded: readonly {
    readonly label: string;
    readonly medianUs: number;
    readonly firstCallMs: number | null;
  }[];
}

/** A loaded library. */
export interface LoadedEngine {
  /** Versions of the packages behind it. */
  readonly versions: Readonly<Record<string, string>>;
  /** Threads it uses. */
  readonly threads: number;
  /** What it computes on, if not the CPU; or where it was recorded. */
  readonly hardware?: string;
  prepare(
    workload: Workload,
    instance: Case,
    quick: boolean,
  ): Promise<Prepared | Unsupported | Recorded>;
  close?(): void | Promise<void>;
}

/** An engine by name. */
export interface Engine {
  readonly name: string;
  readonly about: string;
  load(options: EngineOptions): Promise<LoadedEngine | Unsupported>;
}
