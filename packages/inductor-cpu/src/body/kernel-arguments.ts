/**
 * @file What a kernel is called with, as locals: addresses of buffers, symbolic sizes, scalars. Each is read once,
 * in the code at the function's entry, when something first asks for it.
 */
import type { Expr, GeneratedKernel } from '@tessera/inductor-core';
import { type Size, type SymInt, TesseraError } from '@tessera/shared';
import { i32, memory } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { Section, WasmFunction } from '../emit/wasm-function.js';
import { scalarsOffset } from '../wasm-kernel.js';
import type { BufferRef } from './access-code.js';
import { scalarValue } from './leaf-values.js';
import type { SizeSlots } from './size-slots.js';
import type { Value } from './value.js';
import type { VectorBuilder } from './vector-builder.js';

/** See the file header. */
export class KernelArguments {
  readonly #buffers = new Map<string, BufferRef>();
  readonly #sizes = new Map<SymInt, Local<'i32'>>();

  /** `f` has the parameter `args`, which points to all of them. */
  constructor(
    private readonly f: WasmFunction,
    private readonly entry: Section,
    private readonly kernel: GeneratedKernel<Size>,
    private readonly slots: SizeSlots,
  ) {}

  /** A buffer parameter with its address in a local. @throws plan-invalid when there is none of that name */
  buffer(name: string): BufferRef {
    let found = this.#buffers.get(name);
    if (found === undefined) {
      const { params } = this.kernel;
      const position = params.findIndex((param) => param.name === name);
      if (position < 0) throw this.#missing(`'${name}'`);
      const pointer = this.f.into(this.entry, () =>
        this.f.let(name, memory('i32.load', 4 * position, this.f.param('args'))),
      );
      found = { name, dtype: params[position].dtype, pointer };
      this.#buffers.set(name, found);
    }
    return found;
  }

  /** A size: a constant, or a local. */
  size(size: Size): Code<'i32'> {
    return typeof size === 'number' ? i32(size) : this.sizeLocal(size);
  }

  /** A symbolic size in a local. */
  sizeLocal(size: SymInt): Local<'i32'> {
    let local = this.#sizes.get(size);
    if (local === undefined) {
      local = this.f.into(this.entry, () =>
        this.f.let('size', this.slots.read(size, this.f.param('args'))),
      );
      this.#sizes.set(size, local);
    }
    return local;
  }

  /** A scalar, read where it is asked for. @throws plan-invalid when there is none of that name */
  scalar(vb: VectorBuilder, { name, dtype }: Extract<Expr, { kind: 'scalar' }>): Value {
    const position = this.kernel.scalars.findIndex((scalar) => scalar.name === name);
    if (position < 0) throw this.#missing(`the scalar '${name}'`);
    const offset = scalarsOffset(this.kernel.params.length) + 8 * position;
    return scalarValue(vb, dtype, () => memory('f64.load', offset, this.f.param('args')));
  }

  #missing(what: string): TesseraError {
    return new TesseraError(
      'plan-invalid',
      `Kernel ${this.kernel.name} uses ${what}, which is no parameter of it.`,
    );
  }
}
