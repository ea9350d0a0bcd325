/**
 * @file Unique, valid identifiers for nodes.
 *
 * Names are those of the printed graph, which is TypeScript: reserved words and the globals that
 * printed code refers to are never handed out as they stand.
 */

const RESERVED = (
  'arguments await break case catch class const continue debugger default delete do else enum eval export extends ' +
  'false finally for function if implements import in instanceof interface let new null package private protected ' +
  'public return static super switch this throw true try typeof undefined var void while with yield NaN Infinity ' +
  'self aten tessera getItem forward Tensor'
).split(' ');

const VALID = /^[A-Za-z_]\w*$/;

function validName(candidate: string): string {
  const name = candidate.replace(/\W/g, '_');
  return name === '' || /^\d/.test(name) ? `_${name}` : name;
}

/** Hands out each name once: `mul`, `mul_1`, `mul_2`. */
export class NameSpace {
  private readonly used = new Set<string>(RESERVED);
  private readonly next = new Map<string, number>();

  /** A name not given out before, made from `candidate`. */
  unique(candidate: string): string {
    // Most candidates are names of another graph.
    const base = VALID.test(candidate) ? candidate : validName(candidate);
    let name = base;
    let n = this.next.get(base) ?? 0;
    while (this.used.has(name)) name = `${base}_${++n}`;
    this.next.set(base, n);
    this.used.add(name);
    return name;
  }
}
