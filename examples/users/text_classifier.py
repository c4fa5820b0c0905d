"""A scikit-learn user's first hour: tf-idf text in several classes through `Pipeline` and `GridSearchCV`, class weights by name.

python examples/users/text_classifier.py
"""

from __future__ import annotations

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

import marginopt as mo

TOPICS = {"economy": 200, "health": 120, "sport": 40}


def random_letters(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Return the texts and topics of random letters: 30 to 79 words by Zipf's law, one in twelve from the words of the topic."""
    frequencies = 1.0 / np.arange(1, 1001)
    texts, labels = [], []
    for topic, count in TOPICS.items():
        for _ in range(count):
            length = int(rng.integers(30, 80))
            words = rng.choice(1000, length, p=frequencies / frequencies.sum())
            block = rng.random(length) < 1 / 12
            words_of_topic = rng.integers(0, 60, length)
            texts.append(
                " ".join(f"{topic}{j}" if o else f"word{i}" for i, j, o in zip(words, words_of_topic, block, strict=True))
            )
            labels.append(topic)
    return texts, np.array(labels)


def main() -> dict[str, float]:
    """Run the whole task and return what the test asserts."""
    texts, labels = random_letters(np.random.default_rng(0))
    train, test, y_train, y_test = train_test_split(texts, labels, test_size=0.25, random_state=0, stratify=labels)
    words = ("tfidf", TfidfVectorizer(sublinear_tf=True))
    pipeline = Pipeline([words, ("svc", mo.estimators.HingeSVC(multi_class="ovr", standardise=False))])
    grid = {
        "svc__lam": [1.0, 10.0],
        "svc__class_weight": [None, "balanced", {"economy": 1.0, "health": 1.5, "sport": 5.0}],
    }
    search = GridSearchCV(pipeline, grid, cv=3, scoring="balanced_accuracy").fit(train, y_train)
    print(search.best_params_, search.best_score_)

    best = search.best_estimator_
    svc, names = best["svc"], best["tfidf"].get_feature_names_out()
    strongest = {topic: names[np.argmax(w)] for topic, w in zip(svc.classes_, svc.coef_, strict=True)}
    for topic, result in zip(svc.classes_, svc.result_, strict=True):
        print(f"{topic}: strongest word {strongest[topic]}, {result}")

    # all classes in one problem, and the gap that scikit-learn's machine left in the same pipeline
    joint = Pipeline([words, ("svc", mo.estimators.MulticlassSVC(standardise=False))]).fit(train, y_train)
    print(joint["svc"].result_)
    theirs = Pipeline([words, ("svc", LinearSVC(loss="hinge", class_weight="balanced"))]).fit(train, y_train)
    table = mo.audit(theirs, train, y_train)
    print(table)
    return {
        "gap": max(result.gap for result in svc.result_), "audited": table.gap,
        "topic words": float(np.mean([word.startswith(topic) for topic, word in strongest.items()])),
        "weighted": float(search.best_params_["svc__class_weight"] is not None),
        "accuracy": float(balanced_accuracy_score(y_test, best.predict(test))),
        "joint": float(balanced_accuracy_score(y_test, joint.predict(test))),
    }  # fmt: skip


if __name__ == "__main__":
    print(main())
