/**
 * @file Names of a function's parameters, from its source text.
 *
 * Used to name graph inputs as the user named them. Best effort: a parameter that is destructured, or a
 * function whose text is not available (native, bound), gives null in that place.
 */
import { undoShadowRenames } from './shadow-renames.js';

/** The parameter names in order; null where a parameter has none. A rest parameter is the last, as `...name`. */
export function parameterNames(fn: (...args: never[]) => unknown): (string | null)[] {
  const text = Function.prototype.toString.call(fn);
  const single = /^(?:async\s+)?([A-Za-z_$][\w$]*)\s*=>/.exec(text);
  if (single !== null) return undoShadowRenames([single[1]], text);
  const open = text.indexOf('(');
  if (open < 0 || text.includes('[native code]')) return [];
  return undoShadowRenames(splitParameters(text, open + 1).map(nameOf), text);
}

function nameOf(parameter: string): string | null {
  const match = /^(\.\.\.)?\s*([A-Za-z_$][\w$]*)\s*(?:=[^>]|$)/.exec(parameter);
  return match === null ? null : (match[1] ?? '') + match[2];
}

/** The parameters' texts, without comments. */
function splitParameters(text: string, start: number): string[] {
  const parts: string[] = [];
  let part = '';
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const c = text[i];
    if (c === '/' && (text[i + 1] === '*' || text[i + 1] === '/')) {
      const end = text[i + 1] === '*' ? text.indexOf('*/', i + 2) + 1 : text.indexOf('\n', i);
      if (end <= 0) break;
      i = end;
      continue;
    }
    if (c === '"' || c === "'" || c === '`') {
      const end = closingQuote(text, i);
      part += text.slice(i, end + 1);
      i = end;
      continue;
    }
    if (c === '(' || c === '[' || c === '{') depth++;
    if (c === ')' || c === ']' || c === '}') depth--;
    if (depth < 0) break;
    if (c === ',' && depth === 0) {
      parts.push(part.trim());
      part = '';
    } else part += c;
  }
  if (part.trim() !== '') parts.push(part.trim());
  return parts;
}

function closingQuote(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === text[start]) return i;
  }
  return text.length;
}
