//! Predictions beside kept measurements.
use nestegg_time::*;
use std::{env, fs};
fn main() {
    let dir = env::args().nth(1).unwrap();
    let words: Vec<String> = env::args().skip(2).collect();
    let mut machine = Machine::default();
    if let Ok(p) = env::var("MACHINE") { machine = Machine::read(&nestegg_span::Source::new("m", fs::read_to_string(p).unwrap())).unwrap(); }
    let mut all = Vec::new();
    for group in ["tsfc", "coffee", "devito"] {
        let Ok(entries) = fs::read_dir(format!("{dir}/{group}")) else { continue };
        let mut paths: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let Ok(times) = fs::read_to_string(path.join("times.csv")) else { continue };
            for (idx, line) in times.lines().enumerate() {
                let f: Vec<&str> = line.split(',').collect();
                let source = nestegg_span::Source::new("k", fs::read_to_string(path.join(format!("{idx}.json"))).unwrap());
                let program = nestegg_dump::read(&source).unwrap().program.into_linearized().unwrap();
                let values: Vec<(String, i64)> = program.kernel.parameters.iter().map(|p| (p.name.clone(), p.estimate.unwrap_or(100))).collect();
                let t = std::time::Instant::now();
                match Profile::new(&program, &values, &machine) {
                    Ok(profile) => all.push((path.file_name().unwrap().to_string_lossy().into_owned(), f[0].to_owned(), f[1].parse::<f64>().unwrap(), t.elapsed().as_secs_f64(), Timed { profile, nanoseconds: f[2].parse().unwrap() })),
                    Err(e) => println!("{path:?} {idx} {e}"),
                }
            }
        }
    }
    if env::var("FIT").is_ok() {
        let timed: Vec<Timed> = all.iter().map(|a| a.4.clone()).collect();
        use Constant::*;
        println!("misfit {}", misfit(&machine, &timed));
        machine = fit(&machine, &[Arithmetic, Load, Store, Issue, Lane, Latency, Divide, DivideVector, Root, Exponential, Trigonometric, Power, Function, Branch, LoopEntry, Call, Overlap, UnrollOperations, Fetch, CodeOperations], &timed);
        println!("misfit {}\n{}", misfit(&machine, &timed), machine.to_text());
    }
    let mut names: Vec<String> = all.iter().map(|a| a.0.clone()).collect();
    names.dedup();
    let (mut logs, mut worst, mut rho, mut n) = (0.0, 1.0f64, 0.0, 0.0);
    for name in names {
        let of: Vec<_> = all.iter().filter(|a| a.0 == name).map(|a| (a, a.4.profile.on(&machine))).collect();
        let own: Vec<_> = of.iter().filter(|a| a.0.1 != "peer").collect();
        let best = own.iter().map(|a| a.0.4.nanoseconds).fold(f64::MAX, f64::min);
        let chosen = own.iter().min_by(|a, b| a.1.nanoseconds.total_cmp(&b.1.nanoseconds)).unwrap();
        let by_ops = own.iter().min_by(|a, b| a.0.2.total_cmp(&b.0.2)).unwrap();
        let regret = chosen.0.4.nanoseconds / best;
        let rank = |v: Vec<f64>| -> Vec<f64> { v.iter().map(|x| v.iter().filter(|y| *y < x).count() as f64 + v.iter().filter(|y| *y == x).count() as f64 / 2.0).collect() };
        let (p, m) = (rank(of.iter().map(|a| a.1.nanoseconds).collect()), rank(of.iter().map(|a| a.0.4.nanoseconds).collect()));
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let (mp, mm) = (mean(&p), mean(&m));
        let cov: f64 = p.iter().zip(&m).map(|(a, b)| (a - mp) * (b - mm)).sum();
        let (vp, vm): (f64, f64) = (p.iter().map(|a| (a - mp).powi(2)).sum(), m.iter().map(|a| (a - mm).powi(2)).sum());
        let r = cov / (vp * vm).sqrt().max(1e-9);
        logs += regret.ln(); worst = worst.max(regret); rho += r; n += 1.0;
        let peer = of.iter().find(|a| a.0.1 == "peer").map(|a| a.0.4.nanoseconds);
        println!("{name:28} regret {regret:.2} rho {r:.2} chosen {:.1} best {best:.1} byops {:.1} peer {:?} input {:.1} [{}]", chosen.0.4.nanoseconds, by_ops.0.4.nanoseconds, peer, of[0].0.4.nanoseconds, chosen.0.1);
        if words.iter().any(|w| name.contains(w.as_str())) {
            for (a, e) in &of {
                println!("  {:40} ops {:8} measured {:9.1} predicted {:9.1} ratio {:.2}  {:.4}s", a.1, a.2, a.4.nanoseconds, e.nanoseconds, e.nanoseconds / a.4.nanoseconds, a.3);
                if words.iter().any(|w| w == "-v") { for l in e.to_string().lines().skip(1) { println!("        {l}"); } }
            }
        }
    }
    println!("regret {:.3} worst {:.2} rho {:.3}", (logs / n as f64).exp(), worst, rho / n);
}
