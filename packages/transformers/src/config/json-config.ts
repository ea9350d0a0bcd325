/**
 * @file Reading `config.json`: data from strangers, so every field is checked where it is read.
 */
import { TesseraError } from '@tessera/shared';

/** Most layers, and most experts of one, that are believed. */
const MOST = 4096;

/** Reads fields of a `config.json`. */
export class JsonConfig {
  constructor(
    private readonly fields: Readonly<Record<string, unknown>>,
    private readonly file = 'config.json',
  ) {}

  /** @throws model-invalid when `json` is no object */
  static of(json: unknown, file = 'config.json'): JsonConfig {
    if (!isObject(json))
      throw new TesseraError('model-invalid', `${file} is no object.`, {
        hints: [`Give the folder of a model, or what JSON.parse makes of its ${file}.`],
      });
    return new JsonConfig(json, file);
  }

  private invalid(name: string, wanted: string): TesseraError {
    const value = this.fields[name];
    const text = typeof value === 'number' ? value : JSON.stringify(value);
    return this.refusal(name, text, `not ${wanted}`);
  }

  /** An error that says what a field is, and why that cannot be. */
  refusal(name: string, value: unknown, why: string): TesseraError {
    return new TesseraError('model-invalid', `${this.file}: '${name}' is ${value}, ${why}.`, {
      context: { field: name },
      hints: [`Take ${this.file} from the folder of the weights.`],
    });
  }

  /** `value`, which a field says or leaves out, if it divides what another field says. @throws model-invalid */
  dividing(name: string, value: number, whole: string, of: number): number {
    if (of % value !== 0)
      throw this.refusal(name, value, `which does not divide '${whole}', ${of}`);
    return value;
  }

  /** `value`, which a field says or leaves out, if it is at most what another field says. @throws model-invalid */
  atMost(name: string, value: number, most: string, of: number): number {
    if (value > of) throw this.refusal(name, value, `more than '${most}', ${of}`);
    return value;
  }

  private has(name: string): boolean {
    return this.fields[name] !== undefined && this.fields[name] !== null;
  }

  /** A whole number, at least 1. @throws model-invalid */
  size(name: string, otherwise?: number): number {
    if (!this.has(name) && otherwise !== undefined) return otherwise;
    const value = this.fields[name];
    if (!isWhole(value) || value < 1) throw this.invalid(name, 'a positive whole number');
    return value;
  }

  /** How many there are of something that takes memory by itself, such as layers. @throws model-invalid */
  count(name: string, otherwise?: number): number {
    const value = this.size(name, otherwise);
    if (value > MOST) throw this.invalid(name, `a whole number from 1 to ${MOST}`);
    return value;
  }

  /** A whole number, at least 1, or null; `absent` where the field is left out. @throws model-invalid */
  sizeOrNull(name: string, absent: number | null = null): number | null {
    if (this.fields[name] === undefined) return absent;
    return this.has(name) ? this.size(name) : null;
  }

  /** A finite number. @throws model-invalid */
  number(name: string, otherwise?: number): number {
    if (!this.has(name) && otherwise !== undefined) return otherwise;
    const value = this.fields[name];
    if (typeof value !== 'number' || !Number.isFinite(value)) throw this.invalid(name, 'a number');
    return value;
  }

  /** A finite number, or null; `absent` where the field is left out. @throws model-invalid */
  numberOrNull(name: string, absent: number | null = null): number | null {
    if (this.fields[name] === undefined) return absent;
    return this.has(name) ? this.number(name) : null;
  }

  /** A finite number above 0, or null; `absent` where the field is left out. @throws model-invalid */
  positiveOrNull(name: string, absent: number | null = null): number | null {
    if (this.fields[name] === undefined) return absent;
    return this.has(name) ? this.positive(name) : null;
  }

  /** The same without some fields. */
  without(...names: readonly string[]): JsonConfig {
    const kept = Object.entries(this.fields).filter(([name]) => !names.includes(name));
    return new JsonConfig(Object.fromEntries(kept), this.file);
  }

  /** What a field holds, unchecked. */
  value(name: string): unknown {
    return this.fields[name];
  }

  /** Names of the fields. */
  names(): string[] {
    return Object.keys(this.fields);
  }

  /** A finite number above 0. @throws model-invalid */
  positive(name: string, otherwise?: number): number {
    const value = this.number(name, otherwise);
    if (value <= 0) throw this.invalid(name, 'a number above 0');
    return value;
  }

  /** @throws model-invalid */
  flag(name: string, otherwise: boolean): boolean {
    if (!this.has(name)) return otherwise;
    const value = this.fields[name];
    if (typeof value !== 'boolean') throw this.invalid(name, 'true or false');
    return value;
  }

  /** @throws model-invalid */
  text(name: string, otherwise?: string): string {
    if (!this.has(name) && otherwise !== undefined) return otherwise;
    const value = this.fields[name];
    if (typeof value !== 'string') throw this.invalid(name, 'a text');
    return value;
  }

  /** A list of texts, or null. @throws model-invalid */
  textsOrNull(name: string): readonly string[] | null {
    if (!this.has(name)) return null;
    const value = this.fields[name];
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
      throw this.invalid(name, 'a list of texts');
    return value;
  }

  /** A token number, a list of them, or nothing; `absent` where the field is left out. @throws model-invalid */
  tokens(name: string, absent: readonly number[] = []): readonly number[] {
    if (this.fields[name] === undefined) return absent;
    if (!this.has(name)) return [];
    const value = this.fields[name];
    const list = Array.isArray(value) ? value : [value];
    if (!list.every(isWhole)) throw this.invalid(name, 'token numbers');
    return list;
  }

  /** A list of finite numbers. @throws model-invalid */
  numbers(name: string): readonly number[] {
    const value = this.fields[name];
    if (!Array.isArray(value) || !value.every(isFiniteNumber))
      throw this.invalid(name, 'a list of numbers');
    return value;
  }

  /** An inner object; empty where there is none. @throws model-invalid */
  inner(name: string): JsonConfig {
    if (!this.has(name)) return new JsonConfig({}, this.file);
    const value = this.fields[name];
    if (!isObject(value)) throw this.invalid(name, 'an object');
    return new JsonConfig(value, this.file);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}
