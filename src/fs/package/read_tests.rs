//! Complete, damaged, cut and hostile packages.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::time::{Duration, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

use super::{PackageFailure, PackageReader, describe, write};
use crate::core::package::{
    MANIFEST_ENTRY, PackageError, PackageFile, PackageKind, PackageLimits, PackageManifest, PackageName,
};

const TIME_MS: u64 = 1_700_000_000_123;

fn described(name: &str, content: &[u8]) -> PackageFile {
    let name = PackageName::parse(name).unwrap();
    let modified = UNIX_EPOCH + Duration::from_millis(TIME_MS);
    describe(name, &mut Cursor::new(content), modified, false).unwrap()
}

fn manifest(files: Vec<PackageFile>) -> PackageManifest {
    PackageManifest::new(PackageKind::Conversations, TIME_MS, json!({"x": 1}), files)
}

/// A package with these files.
fn package(files: &[(&str, &[u8])]) -> Vec<u8> {
    let manifest = manifest(files.iter().map(|(name, content)| described(name, content)).collect());
    write(Vec::new(), &manifest, |file| {
        let found = files.iter().find(|(name, _)| *name == file.name.as_str()).unwrap();
        Ok(Box::new(Cursor::new(found.1.to_vec())))
    })
    .unwrap()
}

/// A tar stream with this manifest and whatever entries.
fn forged(manifest: &Value, fill: impl FnOnce(&mut Builder<GzEncoder<Vec<u8>>>)) -> Vec<u8> {
    let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    append(&mut tar, MANIFEST_ENTRY, EntryType::Regular, manifest.to_string().as_bytes());
    fill(&mut tar);
    tar.into_inner().unwrap().finish().unwrap()
}

fn append(tar: &mut Builder<impl Write>, name: &str, kind: EntryType, content: &[u8]) {
    let mut header = Header::new_ustar();
    // Not by `set_path`, which refuses what is tried here.
    header.as_ustar_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    header.set_cksum();
    tar.append(&header, content).unwrap();
}

fn open(bytes: &[u8]) -> Result<PackageReader<&[u8]>, PackageFailure> {
    PackageReader::open(bytes, &PackageLimits::default())
}

fn refused(bytes: &[u8]) -> PackageError {
    match open(bytes).and_then(PackageReader::verify) {
        Err(PackageFailure::Refused(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_package_unpacks_to_the_packed_files() {
    let long = format!("{}/{}", "d".repeat(200), "f".repeat(200));
    let large = vec![b'x'; 300_000];
    let files: &[(&str, &[u8])] =
        &[("a.jsonl", b"{}\n"), ("b/c/d", &large), (&long, b"long"), ("empty", b""), ("ž/日本", b"{}")];
    let bytes = package(files);
    assert_eq!(open(&bytes).unwrap().verify().unwrap().files.len(), files.len());
    let dir = tempfile::tempdir().unwrap();
    let manifest = open(&bytes).unwrap().unpack(dir.path()).unwrap();
    assert_eq!(manifest.info, json!({"x": 1}));
    for (name, content) in files {
        let path = dir.path().join(name);
        assert_eq!(fs::read(&path).unwrap(), *content, "{name}");
        let meta = fs::metadata(&path).unwrap();
        assert_eq!((meta.mode() & 0o777, meta.mtime()), (0o600, 1_700_000_000), "{name}");
        let above = path.parent().filter(|above| *above != dir.path());
        assert!(above.is_none_or(|above| fs::metadata(above).unwrap().mode() & 0o777 == 0o700), "{name}");
    }
}

#[test]
fn every_cut_and_every_flipped_byte_is_noticed() {
    let bytes = package(&[("a", b"hello"), ("b", &[7; 2000])]);
    for end in 0..bytes.len() {
        assert!(open(&bytes[..end]).and_then(PackageReader::verify).is_err(), "cut at {end}");
    }
    // The ten bytes of gzip's own head say nothing about the content.
    for at in 10..bytes.len() {
        let mut bad = bytes.clone();
        bad[at] ^= 0x41;
        assert!(open(&bad).and_then(PackageReader::verify).is_err(), "flipped at {at}");
    }
    let more = [bytes.as_slice(), b"more"].concat();
    assert_eq!(refused(&more), PackageError::Trailing);
    let twice = [bytes.as_slice(), bytes.as_slice()].concat();
    assert_eq!(refused(&twice), PackageError::Trailing);
}

#[test]
fn files_outside_of_the_manifest_are_refused() {
    let one = serde_json::to_value(manifest(vec![described("a", b"x")])).unwrap();
    let kinds = [
        (EntryType::Symlink, "a symbolic link"),
        (EntryType::Link, "a hard link"),
        (EntryType::Char, "a device"),
        (EntryType::Block, "a device"),
        (EntryType::Fifo, "a pipe"),
        (EntryType::Directory, "a directory"),
        (EntryType::GNUSparse, "a file with holes"),
        (EntryType::GNULongName, "an extension of tar"),
        (EntryType::XHeader, "an extension of tar"),
    ];
    for (kind, word) in kinds {
        let bytes = forged(&one, |tar| append(tar, "files/a", kind, b"x"));
        assert_eq!(refused(&bytes), PackageError::NotAFile { name: "files/a".to_owned(), found: word });
    }
    for name in ["files/../../a", "/etc/passwd", "files/b", "a"] {
        let bytes = forged(&one, |tar| append(tar, name, EntryType::Regular, b"x"));
        let (found, wanted) = (name.to_owned(), "files/a".to_owned());
        assert_eq!(refused(&bytes), PackageError::Order { found, wanted });
    }
    let bytes = forged(&one, |tar| append(tar, "files/a", EntryType::Regular, b"y"));
    assert_eq!(refused(&bytes), PackageError::Hash("a".to_owned()));
    let bytes = forged(&one, |tar| append(tar, "files/a", EntryType::Regular, b"xx"));
    assert_eq!(refused(&bytes), PackageError::Length { name: "a".to_owned(), found: 2, wanted: 1 });
    let bytes = forged(&one, |tar| {
        append(tar, "files/a", EntryType::Regular, b"x");
        append(tar, "files/b", EntryType::Regular, b"x");
    });
    assert_eq!(refused(&bytes), PackageError::Trailing);
    let bytes = forged(&one, |_| ());
    assert!(matches!(open(&bytes).and_then(PackageReader::verify), Err(PackageFailure::CutShort)));
}

#[test]
fn a_name_that_escapes_is_refused_before_anything_is_written() {
    for name in ["../a", "/tmp/a", "a/../../b", "a\u{0}b"] {
        let mut manifest = serde_json::to_value(manifest(vec![described("a", b"x")])).unwrap();
        manifest["files"][0]["name"] = json!(name);
        let bytes = forged(&manifest, |tar| append(tar, "files/a", EntryType::Regular, b"x"));
        assert!(matches!(refused(&bytes), PackageError::Name { .. }), "{name:?}");
    }
}

#[test]
fn other_files_are_not_taken_for_packages() {
    let zeros = GzEncoder::new(Vec::new(), Compression::fast()).finish().unwrap();
    let mut foreign = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    append(&mut foreign, "README", EntryType::Regular, b"x");
    let foreign = foreign.into_inner().unwrap().finish().unwrap();
    for bytes in [b"".as_slice(), b"{}\n", &[0; 4096], &zeros, &foreign] {
        assert!(matches!(refused(bytes), PackageError::NotAPackage(_)), "{} bytes", bytes.len());
    }
}

#[test]
fn a_bomb_is_refused_early() {
    let bytes = 200 << 20;
    let named = json!({
        "format": "hopty-package", "version": 1, "kind": "backup", "hopty": "0", "created_ms": 0,
        "files": [{"name": "a", "bytes": bytes, "sha256": "0".repeat(64)}],
    });
    let bomb = forged(&named, |tar| {
        let mut header = Header::new_ustar();
        header.set_path("files/a").unwrap();
        header.set_size(bytes);
        header.set_cksum();
        tar.append(&header, std::io::repeat(0).take(bytes)).unwrap();
    });
    assert!(bomb.len() < 8 << 20, "{}", bomb.len());
    assert_eq!(refused(&bomb), PackageError::Ratio(300));
    // hopty says this of its own package, too, when it reads it back.
    assert!(PackageError::Ratio(300).hint().contains("a conversation of yours stays where it is"));
    let few = PackageLimits { total_bytes: 1000, file_bytes: 1000, ..PackageLimits::default() };
    let limit = PackageReader::open(bomb.as_slice(), &few).map(drop).unwrap_err();
    assert!(limit.to_string().starts_with("bytes of one file: 209715200"), "{limit}");
}

#[test]
fn a_link_in_the_way_is_not_followed() {
    let bytes = package(&[("a", b"x")]);
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    symlink(other.path().join("target"), dir.path().join("a")).unwrap();
    assert!(matches!(open(&bytes).unwrap().unpack(dir.path()), Err(PackageFailure::Fs(_))));
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_changes_while_it_is_packed_fails_the_package() {
    let manifest = manifest(vec![described("a", b"hello")]);
    for now in [b"hell".as_slice(), b"hello!", b"jello", b""] {
        let written = write(Vec::new(), &manifest, |_| Ok(Box::new(Cursor::new(now.to_vec()))));
        assert!(matches!(written, Err(PackageFailure::Changed(_) | PackageFailure::Output(_))), "{now:?}");
    }
}
