/**
 * @file `CheckReport`: where kernels of a device note the first check that failed, until somebody reads.
 *
 *     u32  1 if a check failed
 *     u32  the check's number on this device
 *     u32  the value that failed, an i32
 *     u32  not used
 *
 * A read copies the report behind the bytes it asks for and clears it, in the order of the commands: the
 * read that follows a failure is the one that throws.
 */
import { type TesseraError } from '@tessera/shared';
import { type ValueCheck, valueError } from '@tessera/tensor/internal';
import type { CommandStream } from './command-stream.js';
import type { GpuContext } from './gpu-context.js';
import { BufferUsage } from './gpu-flags.js';

/** Bytes of a report. */
export const REPORT_BYTES = 16;

/** A check of a program that is no kernel of a plan, with its error; equal texts are one check. */
export interface OwnCheck {
  readonly text: string;
  readonly error: (value: number) => TesseraError;
}

/** See the file header. */
export class CheckReport {
  readonly buffer: GPUBuffer;
  private readonly checks: (ValueCheck | OwnCheck)[] = [];
  private readonly first = new Map<string, number>();
  /** Whether a kernel with checks ran since the last read. */
  private isOpen = false;

  constructor(
    context: GpuContext,
    private readonly stream: CommandStream,
  ) {
    this.buffer = context.device.createBuffer({
      size: REPORT_BYTES,
      usage: BufferUsage.storage | BufferUsage.copySrc | BufferUsage.copyDst,
      label: 'tessera failed checks',
    });
  }

  /** The number of the first of a kernel's checks; equal lists have one. */
  firstNumber(checks: readonly (ValueCheck | OwnCheck)[]): number {
    const key = JSON.stringify(checks);
    let number = this.first.get(key);
    if (number === undefined) {
      number = this.checks.length;
      this.first.set(key, number);
      this.checks.push(...checks);
    }
    return number;
  }

  /** A kernel with checks is about to be recorded. */
  open(): void {
    this.isOpen = true;
  }

  /** Records copying the report to a buffer and clearing it; false if there is nothing that could have failed. */
  moveTo(buffer: GPUBuffer, byte: number): boolean {
    if (!this.isOpen) return false;
    this.isOpen = false;
    this.stream.copy(this.buffer, 0, buffer, byte, REPORT_BYTES);
    this.stream.clear(this.buffer);
    return true;
  }

  /** The error that a copied report tells of, or null. */
  read(bytes: Uint8Array<ArrayBuffer>): TesseraError | null {
    const [failed, number, value] = new Int32Array(bytes.slice().buffer);
    if (failed === 0) return null;
    const check = this.checks[number];
    return 'error' in check ? check.error(value) : valueError(check, value);
  }

  dispose(): void {
    this.buffer.destroy();
  }
}
