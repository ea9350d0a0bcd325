import { fileURLToPath } from 'node:url';
import { defaultClientConditions, defineConfig } from 'vite';

// The compiler knows its own frames by such a folder (`userFrame` of `@tessera/shared`).
const WORKER = 'assets/packages/chat/dist/[name]-[hash].js';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  publicDir: false,
  logLevel: 'warn',
  resolve: { conditions: ['@tessera/source', ...defaultClientConditions] },
  worker: {
    format: 'es',
    rolldownOptions: { output: { entryFileNames: WORKER, chunkFileNames: WORKER } },
  },
  build: {
    outDir: 'dist-page',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    chunkSizeWarningLimit: 4096,
  },
});
