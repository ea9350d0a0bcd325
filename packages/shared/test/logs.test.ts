import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  log,
  logArtifacts,
  logEnabled,
  registerLogArtifact,
  setLogSink,
  setLogs,
} from '../src/index.js';
import { thrownBy } from './thrown-by.js';

const lines: string[] = [];

beforeEach(() => {
  lines.length = 0;
  setLogSink((artifact, text) => lines.push(`${artifact}: ${text}`));
});

afterEach(() => {
  setLogs(Object.fromEntries(logArtifacts().map(({ name }) => [name, false])));
  setLogSink(undefined);
});

describe('log artifacts', () => {
  it('are named in an object', () => {
    for (const wrong of ['recompiles', ['recompiles'], null])
      expect(thrownBy(() => setLogs(wrong as never))).toMatchObject({
        code: 'invalid-argument',
        hints: ['Write setLogs({ recompiles: true }).'],
      });
  });

  it('are off until they are switched on, and then get the text', () => {
    const text = vi.fn(() => 'L[x] is a float32 tensor');
    log('guards', text);
    expect(text).not.toHaveBeenCalled();
    setLogs({ guards: true });
    expect(logEnabled('guards')).toBe(true);
    expect(logEnabled('graph')).toBe(false);
    log('guards', text);
    expect(lines).toEqual(['guards: L[x] is a float32 tensor']);
    setLogs({ guards: false });
    expect(logEnabled('guards')).toBe(false);
  });

  it('keep their state when others change', () => {
    setLogs({ guards: true, perf: true });
    setLogs({ perf: false });
    expect(logEnabled('guards')).toBe(true);
  });

  it('reject an unknown name, change nothing, and list every name with its help', () => {
    const error = thrownBy(() => setLogs({ perf: true, gaurds: true }));
    expect(error.code).toBe('unknown-log-artifact');
    for (const { name, help } of logArtifacts()) {
      expect(error.message).toContain(name);
      expect(error.message).toContain(help);
    }
    expect(error.hints).toEqual(["Did you mean 'guards'?"]);
    expect(logEnabled('perf')).toBe(false);
  });

  it('can be added by other packages, once per name', () => {
    registerLogArtifact('acme:tiles', 'tile sizes chosen by the acme backend');
    registerLogArtifact('acme:tiles', 'tile sizes chosen by the acme backend');
    setLogs({ 'acme:tiles': true });
    log('acme:tiles', () => '64 x 64');
    expect(lines).toEqual(['acme:tiles: 64 x 64']);
    const error = thrownBy(() => registerLogArtifact('guards', 'something else'));
    expect(error.code).toBe('invalid-argument');
  });

  it('go to standard error by default, each line with its name', async () => {
    const written: string[] = [];
    const spy = vi
      .spyOn(console, 'error')
      .mockImplementation((text: string) => void written.push(text));
    vi.resetModules();
    const fresh = await import('../src/logs.js');
    fresh.setLogs({ graph: true });
    fresh.log('graph', () => 'line one\nline two');
    spy.mockRestore();
    expect(written).toEqual(['[graph] line one\n[graph] line two']);
  });
});

describe('TESSERA_LOGS', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.unstubAllGlobals();
  });

  async function loadLogs(): Promise<typeof import('../src/logs.js')> {
    vi.resetModules();
    return import('../src/logs.js');
  }

  it('switches on the artifacts it names', async () => {
    vi.stubEnv('TESSERA_LOGS', 'guards, recompiles');
    const logs = await loadLogs();
    expect(logs.logEnabled('guards')).toBe(true);
    expect(logs.logEnabled('recompiles')).toBe(true);
    expect(logs.logEnabled('perf')).toBe(false);
  });

  it('may be a global variable, as in a browser', async () => {
    vi.stubGlobal('TESSERA_LOGS', 'fusion');
    const logs = await loadLogs();
    expect(logs.logEnabled('fusion')).toBe(true);
  });

  it('with an unknown name fails on load', async () => {
    vi.stubEnv('TESSERA_LOGS', 'guard');
    await expect(loadLogs()).rejects.toMatchObject({ code: 'unknown-log-artifact' });
  });

  it('may name an artifact of a package that is loaded later', async () => {
    vi.stubEnv('TESSERA_LOGS', 'acme:late');
    const logs = await loadLogs();
    expect(logs.logEnabled('acme:late')).toBe(false);
    logs.registerLogArtifact('acme:late', 'an artifact of a package that is loaded later');
    expect(logs.logEnabled('acme:late')).toBe(true);
  });
});
