/**
 * @file `ProgramBuilder`: assembles one WGSL module.
 *
 * The builder owns module scope: buffer bindings (group 0), the uniform block of runtime scalars, element
 * offsets and symbolic sizes (group 1), workgroup arrays, library functions. Strategy files (`pointwise.ts`,
 * `reduction.ts`, `matmul.ts`) write the entry point. The text holds no kernel name, so kernels that
 * differ in nothing else share a pipeline.
 */
import { type Size, type SymInt, TesseraError } from '@tessera/shared';
import {
  checksOf,
  checksOfAll,
  type Expr,
  type GeneratedKernel,
  type KernelChecks,
} from '@tessera/inductor-core';
import { CodeBlock } from './code-block.js';
import type { Workgroups } from './dispatch.js';
import { FunctionLibrary } from './functions/function-library.js';
import { NameScope } from './names.js';
import type { JoinedKernel } from './scheduled/joined-kernel.js';
import type { WgslTarget } from './target.js';
import type { KernelVariant } from './variant.js';
import {
  computeType,
  isHalfWide,
  storageType,
  type ScalarType,
  type Width,
} from './values/wgsl-types.js';
import { addedToFloat, combinedBuffers, combinedElement } from './values/combined-buffers.js';
import { unknownName } from './unknown-name.js';
import { elementOf } from './values/buffer-access.js';
import type { BindingSlot, BufferAccess, UniformField, WgslProgram } from './wgsl-program.js';

/** What is the same in a subgroup may differ between those of a workgroup, which is all that WGSL knows of. */
const MATRIX_DIRECTIVES =
  'enable chromium_experimental_subgroup_matrix;\ndiagnostic(off, chromium.subgroup_matrix_uniformity);\n\n';

/** See the file header. */
export class ProgramBuilder {
  readonly names: NameScope = new NameScope();
  readonly helpers: FunctionLibrary = new FunctionLibrary();
  private readonly buffers = new Map<string, BufferAccess>();
  private readonly scalars = new Map<string, { text: string; type: ScalarType }>();
  private readonly sizes = new Map<SymInt, string>();
  private readonly quotients = new Map<string, string>();
  private readonly declarations: string[] = [];
  private readonly functions: string[] = [];
  private readonly slots: BindingSlot[] = [];
  private readonly uniforms: UniformField[] = [];
  private readonly uniformLines: string[] = [];
  private readonly checks: KernelChecks;
  private readonly adders = new Map<string, string>();
  private readonly checkFunctions = new Map<Width, string>();
  private failedName = '';
  private usesF16 = false;
  private usesSubgroups = false;
  private usesMatrices = false;
  private usesSubgroupSize = false;

  constructor(
    readonly kernel: GeneratedKernel<Size> | JoinedKernel,
    readonly target: WgslTarget,
    variant: KernelVariant,
    vectorBuffers: ReadonlySet<string>,
    pairedBuffers: ReadonlySet<string> = new Set(),
  ) {
    this.checks = kernel.kind === 'joined' ? checksOfAll(kernel.parts) : checksOf(kernel);
    this.declareScalars();
    this.declareBuffers(variant, vectorBuffers, pairedBuffers);
    if (this.checks.list.length > 0) this.declareChecks();
  }

  /** The number of a check within the kernel. */
  checkNumber(expr: Extract<Expr, { kind: 'check' }>): number {
    return this.checks.numberOf(expr);
  }

  /** Name of the function that notes a failed check: `(number, subject)`, or `(number, bad lanes, subjects)`. */
  checkFunction(width: Width): string {
    let name = this.checkFunctions.get(width);
    if (name !== undefined) return name;
    name = width === 4 ? 'report_lanes' : 'report';
    this.checkFunctions.set(width, name);
    const body = new CodeBlock();
    if (width === 4) {
      const one = this.checkFunction(1);
      for (let lane = 0; lane < 4; lane++)
        body.line(`if (bad[${lane}]) { ${one}(number, subject[${lane}]); }`);
      this.addFunction(`${name}(number: u32, bad: vec4<bool>, subject: vec4i)`, body);
      return name;
    }
    const failed = this.failedName;
    // The first one is kept.
    body.line(`if (atomicOr(&${failed}[0], 1u) != 0u) { return; }`);
    body.line(`atomicStore(&${failed}[1], uniforms.first_check + number);`);
    body.line(`atomicStore(&${failed}[2], bitcast<u32>(subject));`);
    this.addFunction(`${name}(number: u32, subject: i32)`, body);
    return name;
  }

  /** Name of the function that adds to a float32 of a buffer in which stores combine: `(index, value)`. */
  floatAdder({ variable }: BufferAccess): string {
    let name = this.adders.get(variable);
    if (name !== undefined) return name;
    this.adders.set(variable, (name = this.names.fresh('add_float')));
    this.addFunction(`${name}(index: u32, value: f32)`, addedToFloat(variable));
    return name;
  }

  buffer(name: string): BufferAccess {
    const access = this.buffers.get(name);
    if (access === undefined) throw unknownName(this.kernel.name, 'buffer', name);
    return access;
  }

  scalar(name: string): { text: string; type: ScalarType } {
    const scalar = this.scalars.get(name);
    if (scalar === undefined) throw unknownName(this.kernel.name, 'scalar', name);
    return scalar;
  }

  /** Text of a size, u32: a literal, or the uniform that holds it. */
  size(size: Size): string {
    if (typeof size === 'number') return `${size}u`;
    let text = this.sizes.get(size);
    if (text === undefined) {
      const field = this.names.fresh('size');
      this.uniformLines.push(`  ${field}: u32,\n`);
      this.uniforms.push({ kind: 'size', size });
      this.sizes.set(size, (text = `uniforms.${field}`));
    }
    return text;
  }

  /** Text of the quotient of two sizes, f32. */
  quotient(a: Size, b: Size): string {
    const key = `${String(a)}; ${String(b)}`;
    let text = this.quotients.get(key);
    if (text === undefined) {
      const field = this.names.fresh('quotient');
      this.uniformLines.push(`  ${field}: f32,\n`);
      this.uniforms.push({ kind: 'quotient', of: [a, b] });
      this.quotients.set(key, (text = `uniforms.${field}`));
    }
    return text;
  }

  /** Declares an array in workgroup memory and returns its name. */
  workgroupArray(prefix: string, element: string, length: number): string {
    const name = this.names.fresh(prefix);
    this.declarations.push(`var<workgroup> ${name}: array<${element}, ${length}>;`);
    return name;
  }

  /** Adds a function beside the entry point. */
  addFunction(head: string, body: CodeBlock): void {
    this.functions.push(`fn ${head} {\n${body.render('  ')}}\n`);
  }

  requireSubgroups(): void {
    this.usesSubgroups = true;
  }

  /** Text of the subgroup's size where it is not known. */
  subgroupSize(): string {
    this.usesSubgroupSize = true;
    return 'subgroup_size';
  }

  /** Allows subgroup matrices: every subgroup of a workgroup takes another part of a product. */
  requireMatrices(): void {
    this.usesF16 = true;
    this.usesMatrices = true;
    this.requireSubgroups();
  }

  /** Closes the module. `builtins` are parameters of the entry point besides the workgroup and thread. */
  finish(
    threads: number,
    body: CodeBlock,
    workgroups: Workgroups,
    builtins: readonly string[] = [],
  ): WgslProgram {
    const enables = [
      ...(this.usesF16 ? ['enable f16;\n\n'] : []),
      ...(this.usesSubgroups ? ['enable subgroups;\n\n'] : []),
      ...(this.usesMatrices ? [MATRIX_DIRECTIVES] : []),
    ].join('');
    const uniforms =
      this.uniformLines.length === 0
        ? ''
        : `struct Uniforms {\n${this.uniformLines.join('')}}\n@group(1) @binding(0) var<uniform> uniforms: Uniforms;\n`;
    const parameters = [
      '@builtin(workgroup_id) group: vec3u',
      '@builtin(local_invocation_index) lane: u32',
      ...(this.usesSubgroupSize ? ['@builtin(subgroup_size) subgroup_size: u32'] : []),
      ...builtins,
    ].join(', ');
    const text =
      `${enables}${uniforms}${this.declarations.join('\n')}\n\n${this.helpers.render()}` +
      `${this.functions.map((fn) => `${fn}\n`).join('')}` +
      `@compute @workgroup_size(${threads})\nfn main(${parameters}) {\n${body.render('  ')}}\n`;
    return {
      text,
      workgroups,
      slots: this.slots,
      uniforms: this.uniforms,
      checks: this.checks.list,
    };
  }

  private declareChecks(): void {
    this.failedName = 'failed';
    this.uniformLines.push(`  first_check: u32,\n`);
    this.uniforms.push({ kind: 'checks' });
    this.declarations.push(
      `@group(0) @binding(${this.slots.length}) var<storage, read_write> ${this.failedName}: array<atomic<u32>, 4>;`,
    );
    this.slots.push({ access: 'read_write', params: [] });
  }

  private declareScalars(): void {
    for (const [index, scalar] of this.kernel.scalars.entries()) {
      const type = computeType(scalar.dtype);
      const stored = type === 'bool' ? 'u32' : type;
      const field = this.names.claim(scalar.name);
      this.uniformLines.push(`  ${field}: ${stored},\n`);
      this.uniforms.push({ kind: 'scalar', index, type: stored });
      const text = `uniforms.${field}`;
      this.scalars.set(scalar.name, { text: type === 'bool' ? `(${text} != 0u)` : text, type });
    }
  }

  private declareBuffers(
    variant: KernelVariant,
    vectorBuffers: ReadonlySet<string>,
    pairedBuffers: ReadonlySet<string>,
  ): void {
    const { kernel, target } = this;
    const combined = combinedBuffers(kernel);
    const groups: number[][] = [];
    for (const [index, slot] of variant.slots.entries()) (groups[slot] ??= []).push(index);
    const bindings = groups.length + Math.min(this.checks.list.length, 1);
    if (bindings > target.maxStorageBuffers) {
      throw new TesseraError(
        'plan-invalid',
        `Kernel '${kernel.name}' binds ${bindings} buffers; this adapter allows ${target.maxStorageBuffers} in one kernel.`,
        {
          context: { kernel: kernel.name, buffers: bindings, limit: target.maxStorageBuffers },
          hints: [`Fuse no more than the backend's capabilities.maxBuffersPerKernel allows.`],
        },
      );
    }
    for (const [slot, members] of groups.entries()) {
      const params = members.map((index) => kernel.params[index]);
      const storage = storageType(params[0].dtype, target.f16);
      if (params.some((param) => storageType(param.dtype, target.f16) !== storage)) {
        throw new TesseraError(
          'dtype-unsupported',
          `Kernel '${kernel.name}' writes and reads one buffer as ${params.map((p) => p.dtype).join(' and ')}.`,
          {
            context: { kernel: kernel.name },
            hints: ['Copy one of the two views first: view.clone().'],
          },
        );
      }
      if (isHalfWide(storage)) this.usesF16 = true;
      const access = params.every((param) => param.access === 'read') ? 'read' : 'read_write';
      const vector = vectorBuffers.has(params[0].name);
      const paired = params.every(({ name }) => pairedBuffers.has(name));
      const element = combined.has(params[0].name)
        ? combinedElement(storage)
        : elementOf(storage, vector, paired);
      const variable = this.names.claim(params[0].name);
      this.slots.push({ access, params: members });
      this.declarations.push(
        `@group(0) @binding(${slot}) var<storage, ${access}> ${variable}: array<${element}>;`,
      );
      for (const [position, param] of params.entries()) {
        let offset: string | null = null;
        if (variant.offsets) {
          const field = this.names.claim(`${param.name}_offset`);
          this.uniformLines.push(`  ${field}: u32,\n`);
          this.uniforms.push({ kind: 'offset', param: members[position] });
          offset = `uniforms.${field}`;
        }
        this.buffers.set(param.name, { param, variable, storage, vector, paired, offset });
      }
    }
  }
}
