import { compile } from '@tessera/compile';
import * as T from '@tessera/tensor';
const lib = T.library('zz').define('turned(Tensor(a) x) -> Tensor(a)').impl('turned','cpu',(x: T.Tensor)=>x.t()).impl('turned','meta',(x: T.Tensor)=>x.t());
const turned = lib.fn('turned') as (x: T.Tensor) => T.Tensor;
const f = compile((x: T.Tensor) => { const t = turned(x.clone()); t.add_(1); return t; }, { backend: 'aot_eager' });
try { console.log(f(T.ones([2,3])).shape); } catch (e) { console.log((e as Error).stack); }
for (const c of (await import('@tessera/compile')).compiledFunctionOf(f).captures) for (const s of c.segments) console.log(String((s as any).graph?.print?.() ?? (s as any).graph));
process.exit();
