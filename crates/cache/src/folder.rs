//! A folder of entries that any number of processes share.
//!
//! # Method
//! Each entry is one file: a line with the version of this layout, a hash of the content, and the content. It is written under
//! another name and then renamed, which file systems do in one step. Who makes an entry holds a lock on a file beside it; the system
//! gives a lock back when its process ends, however it ends. The lock file goes when the entry is there: who still waits on it then finds the
//! entry.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs4::{FileExt, TryLockError};
use tempfile::Builder;
use walkdir::WalkDir;

use crate::key::Key;

/// The first line of entries.
const HEAD: &[u8] = b"nestegg-cache 1\n";

/// What tells a cache from other folders, to backups too: <https://bford.info/cachedir/>.
const TAG: &str = "CACHEDIR.TAG";

/// Its text.
const TAG_TEXT: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# Results that nestegg keeps; `nestegg cache clear` removes them.\n";

/// The ending of entries.
const ENTRY: &str = "kept";

/// The ending of lock files.
const LOCK: &str = "lock";

/// How files are called that are being written.
const NEW: &str = ".new-";

/// How often a process looks whether another one is done.
const PATIENCE: Duration = Duration::from_millis(20);

/// What says where the package's default cache is.
const VARIABLE: &str = "NESTEGG_CACHE";

/// A folder of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

/// Why a folder is no cache.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CacheError {
    /// The system says no.
    #[error("cannot make the cache `{path}`")]
    #[diagnostic(code(cache::cannot_open))]
    Open {
        /// The folder.
        path: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Something else is in it.
    #[error("`{path}` is no cache of nestegg")]
    #[diagnostic(
        code(cache::no_cache),
        help("a cache has a file `CACHEDIR.TAG`; what is in this folder is left alone")
    )]
    NoCache {
        /// The folder.
        path: String,
    },
    /// The system says no.
    #[error("cannot remove what is in the cache `{path}`")]
    #[diagnostic(code(cache::cannot_clear))]
    Clear {
        /// The folder.
        path: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// What to do while another process makes the same result.
#[derive(Clone, Copy)]
pub enum Patience<'a> {
    /// Wait until it is done, calling this every now and then. Only for those that nothing else waits for: who holds a lock and waits for
    /// another may wait for ever.
    Wait(&'a dyn Fn()),
    /// Come back later.
    Leave,
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched<T> {
    /// It was kept.
    Kept(T),
    /// It was made.
    Made(T),
    /// Another process makes it.
    Busy,
}

/// How much a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Results.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// What a try for a lock gave.
enum Try {
    Held(Lock),
    Busy,
    /// This place cannot be locked.
    Never,
}

/// A lock that is held; dropping it gives it back.
struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Gives it back for good: the entry is there.
    fn remove(self) {
        // Another process may have done so, and nothing depends on it.
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Not only closed: a process that was forked meanwhile has the file open too.
        let _ = FileExt::unlock(&self.file);
    }
}

impl Cache {
    /// The cache in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// If the folder cannot be made, or holds something else.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        let cannot = |source| CacheError::Open { path: folder.display().to_string(), source };
        fs::create_dir_all(folder).map_err(cannot)?;
        let cache = Self { folder: folder.to_owned() };
        if !cache.has_tag() {
            let mut entries = fs::read_dir(folder).map_err(cannot)?;
            // Another process may make the tag right now.
            let is_other = entries.any(|entry| {
                entry.is_ok_and(|entry| {
                    let name = entry.file_name();
                    !name.to_string_lossy().starts_with(NEW) && name != TAG && !is_part(&name.to_string_lossy())
                })
            });
            if is_other && !cache.has_tag() {
                return Err(CacheError::NoCache { path: folder.display().to_string() });
            }
            cache.write(&folder.join(TAG), TAG_TEXT.as_bytes()).map_err(cannot)?;
        }
        Ok(cache)
    }

    /// The folder of the package: what `NESTEGG_CACHE` says, else `nestegg` where the system keeps what can be made again.
    #[must_use]
    pub fn default_folder() -> Option<PathBuf> {
        let given = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        given.or_else(|| dirs::cache_dir().map(|folder| folder.join("nestegg")))
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The result of that key: kept, or made and then kept.
    ///
    /// `decode` refuses what cannot be the result, which is then made again. What cannot be written is answered all the same. Of several
    /// processes that ask at a time one makes it, where the file system has locks.
    ///
    /// # Errors
    /// What `make` answers; it is not kept.
    pub fn fetch<T, E>(
        &self,
        key: &Key,
        patience: Patience<'_>,
        decode: impl Fn(&[u8]) -> Option<T>,
        encode: impl FnOnce(&T) -> Option<Vec<u8>>,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Fetched<T>, E> {
        let path = self.place(key, ENTRY);
        let found = || read(&path).and_then(|bytes| decode(&bytes));
        if let Some(found) = found() {
            return Ok(Fetched::Kept(found));
        }
        // A place that cannot be made has no locks either.
        let _ = path.parent().map(fs::create_dir_all);
        let lock = loop {
            match try_lock(&self.place(key, LOCK)) {
                Try::Held(lock) => break Some(lock),
                Try::Never => break None,
                Try::Busy => match patience {
                    Patience::Leave => return Ok(Fetched::Busy),
                    Patience::Wait(waiting) => {
                        waiting();
                        std::thread::sleep(PATIENCE);
                        if let Some(found) = found() {
                            return Ok(Fetched::Kept(found));
                        }
                    }
                },
            }
        };
        // Who held the lock before may have made it.
        if let Some(found) = found() {
            if let Some(lock) = lock {
                lock.remove();
            }
            return Ok(Fetched::Kept(found));
        }
        let made = make()?;
        let is_written = encode(&made).is_some_and(|bytes| self.write(&path, &with_head(&bytes)).is_ok());
        if let (Some(lock), true) = (lock, is_written) {
            lock.remove();
        }
        Ok(Fetched::Made(made))
    }

    /// How much it holds.
    #[must_use]
    pub fn size(&self) -> Size {
        let mut size = Size::default();
        for file in self.files() {
            size.bytes += file.metadata().map_or(0, |metadata| metadata.len());
            size.entries += u64::from(file.extension().is_some_and(|ending| ending == ENTRY));
        }
        size
    }

    /// Removes all results and says how much that was. Processes that work with them make them again.
    ///
    /// # Errors
    /// If the folder is no cache, or something cannot be removed.
    pub fn clear(&self) -> Result<Size, CacheError> {
        let path = || self.folder.display().to_string();
        if !self.has_tag() {
            return Err(CacheError::NoCache { path: path() });
        }
        let size = self.size();
        for file in self.files() {
            match fs::remove_file(&file) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(CacheError::Clear { path: path(), source });
                }
                _ => {}
            }
        }
        Ok(size)
    }

    fn has_tag(&self) -> bool {
        fs::read_to_string(self.folder.join(TAG)).is_ok_and(|text| text == TAG_TEXT)
    }

    /// The files that this made, the tag not among them.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let all = WalkDir::new(&self.folder).min_depth(2).max_depth(2).into_iter().filter_map(Result::ok);
        all.map(walkdir::DirEntry::into_path).filter(|path| {
            let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
            let is_ours = |file: String| {
                file.starts_with(NEW) || file.ends_with(&format!(".{ENTRY}")) || file.ends_with(&format!(".{LOCK}"))
            };
            path.parent().and_then(name).is_some_and(|part| is_part(&part)) && name(path).is_some_and(is_ours)
        })
    }

    /// The file of a key: few files in each of 256 folders.
    fn place(&self, key: &Key, ending: &str) -> PathBuf {
        let name = key.to_string();
        let (part, rest) = name.split_at(2);
        self.folder.join(part).join(format!("{rest}.{ending}"))
    }

    /// Writes a file in full, or not.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut builder = Builder::new();
        builder.prefix(NEW);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Others may read what is kept, as they may read other files of who made it.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.tempfile_in(path.parent().unwrap_or(&self.folder))?;
        file.write_all(bytes)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }
}

/// Whether a folder is one of the 256.
fn is_part(name: &str) -> bool {
    name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn with_head(bytes: &[u8]) -> Vec<u8> {
    [HEAD, blake3::hash(bytes).as_bytes(), bytes].concat()
}

/// What an entry holds; nothing if there is none, or if it is damaged.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    let rest = bytes.strip_prefix(HEAD)?;
    let (hash, content) = rest.split_at_checked(blake3::OUT_LEN)?;
    if blake3::hash(content).as_bytes() != hash {
        return None;
    }
    Some(bytes.split_off(HEAD.len() + blake3::OUT_LEN))
}

fn try_lock(path: &Path) -> Try {
    // File systems of several machines lock only files that may be written.
    let Ok(file) = File::options().create(true).truncate(false).read(true).write(true).open(path) else {
        return Try::Never;
    };
    match FileExt::try_lock(&file) {
        Ok(()) => Try::Held(Lock { file, path: path.to_owned() }),
        Err(TryLockError::WouldBlock) => Try::Busy,
        Err(TryLockError::Error(_)) => Try::Never,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use crate::key::KeyWriter;

    fn key(name: &str) -> Key {
        let mut writer = KeyWriter::of_this_program();
        writer.field("name", name);
        writer.finish()
    }

    fn fetch(
        cache: &Cache,
        name: &str,
        make: impl FnOnce() -> Result<String, String>,
    ) -> Result<Fetched<String>, String> {
        let decode = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let encode = |text: &String| Some(text.clone().into_bytes());
        cache.fetch(&key(name), Patience::Wait(&|| ()), decode, encode, make)
    }

    fn never() -> Result<String, String> {
        panic!("it is kept")
    }

    #[test]
    fn what_is_made_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        assert_eq!(fetch(&cache, "a", || Ok("one".to_owned())), Ok(Fetched::Made("one".to_owned())));
        assert_eq!(fetch(&cache, "a", never), Ok(Fetched::Kept("one".to_owned())));
        assert_eq!(fetch(&Cache::open(folder.path()).unwrap(), "a", never), Ok(Fetched::Kept("one".to_owned())));
        assert_eq!(fetch(&cache, "b", || Ok("two".to_owned())), Ok(Fetched::Made("two".to_owned())));
        assert_eq!(cache.size().entries, 2);
        assert_eq!(cache.files().count(), 2, "no lock and nothing half written is left");
        assert_eq!(cache.clear().unwrap().entries, 2);
        assert_eq!(cache.size(), Size::default());
        assert_eq!(fetch(&cache, "a", || Ok("again".to_owned())), Ok(Fetched::Made("again".to_owned())));
    }

    #[test]
    fn errors_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        assert_eq!(fetch(&cache, "a", || Err("no".to_owned())), Err("no".to_owned()));
        assert_eq!(fetch(&cache, "a", || Ok("yes".to_owned())), Ok(Fetched::Made("yes".to_owned())));
    }

    #[test]
    fn damaged_entries_are_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        fetch(&cache, "a", || Ok("one".to_owned())).unwrap();
        let path = cache.place(&key("a"), ENTRY);
        let whole = fs::read(&path).unwrap();
        for n_bytes in 0..whole.len() {
            fs::write(&path, &whole[..n_bytes]).unwrap();
            assert!(read(&path).is_none(), "{n_bytes} bytes of {}", whole.len());
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            fs::write(&path, bytes).unwrap();
            assert!(read(&path).is_none(), "byte {at} is another one");
        }
        assert_eq!(fetch(&cache, "a", || Ok("two".to_owned())), Ok(Fetched::Made("two".to_owned())));
        assert_eq!(fetch(&cache, "a", never), Ok(Fetched::Kept("two".to_owned())));
    }

    #[test]
    fn of_many_who_ask_one_makes_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        let n_made = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for name in ["a", "b", "c"] {
                        let make = || {
                            n_made.fetch_add(1, Ordering::Relaxed);
                            thread::sleep(Duration::from_millis(30));
                            Ok(name.to_owned())
                        };
                        let (Fetched::Kept(found) | Fetched::Made(found)) = fetch(&cache, name, make).unwrap() else {
                            panic!("who waits is answered")
                        };
                        assert_eq!(found, name);
                    }
                });
            }
        });
        assert_eq!(n_made.into_inner(), 3);
    }

    #[test]
    fn who_does_not_wait_comes_back_later() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        let res = fetch(&cache, "a", || {
            let decode = |_: &[u8]| Some(String::new());
            let inner = cache.fetch(&key("a"), Patience::Leave, decode, |_| None, never);
            assert_eq!(inner, Ok(Fetched::Busy));
            Ok("one".to_owned())
        });
        assert_eq!(res, Ok(Fetched::Made("one".to_owned())));
    }

    #[test]
    fn a_lock_file_that_nobody_holds_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        let path = cache.place(&key("a"), LOCK);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        assert_eq!(fetch(&cache, "a", || Ok("one".to_owned())), Ok(Fetched::Made("one".to_owned())));
        assert!(!path.exists());
    }

    #[test]
    fn results_are_right_where_nothing_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        let part = cache.place(&key("a"), ENTRY).parent().unwrap().to_owned();
        fs::write(&part, "a file where a folder should be").unwrap();
        assert_eq!(fetch(&cache, "a", || Ok("one".to_owned())), Ok(Fetched::Made("one".to_owned())));
        assert_eq!(fetch(&cache, "a", || Ok("two".to_owned())), Ok(Fetched::Made("two".to_owned())));
    }

    #[test]
    fn other_folders_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.tex"), "important").unwrap();
        assert!(matches!(Cache::open(folder.path()), Err(CacheError::NoCache { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let cache = Cache { folder: folder.path().to_owned() };
        assert!(matches!(cache.clear(), Err(CacheError::NoCache { .. })));
    }
}
